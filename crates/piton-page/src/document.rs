//! Whole documents: the page itself, and the pages around it.

use std::time::Duration;

use maud::{DOCTYPE, Markup, html};
use piton_core::view::PermissionMode;

use crate::assets;
use crate::dock::mode_options;
use crate::icon::{icon, sprite};
use crate::scene::Model;
use crate::visible::visible;

/// What a document holds.
#[derive(Clone, Debug)]
pub struct Shell<'a> {
    /// What the tab says in front of "piton".
    pub title: &'a str,
    /// The list, of [`list`](crate::list).
    pub list: Markup,
    /// The rest: of [`Renderer::main`](crate::Renderer::main), [`start`], or [`hits`].
    pub main: Markup,
    /// Whether the list is what a narrow screen shows.
    pub is_list: bool,
    /// Which build this is: a page of another one offers to load itself again.
    pub build: &'a str,
    /// Where the list stood when it was read: the page asks for what came after.
    pub list_cursor: &'a str,
    /// Largest file that may be attached, in bytes.
    pub file_bytes_max: u64,
    /// How long a stream may be silent before the page opens it again.
    pub silence: Duration,
}

/// The whole page.
pub fn document(shell: &Shell<'_>) -> String {
    let page = if shell.is_list { "list" } else { "main" };
    let body = html! {
        (sprite())
        // A search has no composer.
        @if shell.main.0.contains("id=\"draft\"") { a.skip href="#draft" { "To the composer" } }
        @else { a.skip href="#q" { "To the search" } }
        div.app data-page=(page) { (shell.list) (shell.main) }
        div.sr id="say" role="status" {}
        div.sr id="alarm" role="alert" {}
        dialog id="sure" aria-labelledby="sure-h" {
            h2 id="sure-h" {}
            p { "It can be found in the journal, but not on this page." }
            form method="dialog" { div.row { button.b.risk value="yes" { "Discard" } button.b value="no" { "Keep" } } }
        }
        dialog id="keys" aria-labelledby="keys-h" { (keys()) }
    };
    let attributes = Attributes {
        title: shell.title,
        build: shell.build,
        list: shell.list_cursor,
        file_bytes_max: shell.file_bytes_max,
        silence: shell.silence,
    };
    whole(&attributes, &body)
}

struct Attributes<'a> {
    title: &'a str,
    build: &'a str,
    list: &'a str,
    file_bytes_max: u64,
    silence: Duration,
}

fn whole(about: &Attributes<'_>, body: &Markup) -> String {
    let title =
        if about.title.is_empty() { "piton".into() } else { format!("{} · piton", about.title) };
    html! {
        (DOCTYPE)
        html lang="en" data-build=(about.build) data-list=(about.list) data-file-bytes=(about.file_bytes_max) data-silence-ms=(about.silence.as_millis()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content";
                meta name="color-scheme" content="light dark";
                // Not `no-referrer`: with that a browser calls the origin of a plain form `null`.
                meta name="referrer" content="same-origin";
                title { (visible(&title)) }
                link rel="icon" href={ "/assets/" (assets::icon()) } type="image/svg+xml";
                link rel="stylesheet" href={ "/assets/" (assets::style()) };
                @for (at, module) in assets::modules().enumerate() {
                    @if at == 0 { script type="module" src={ "/assets/" (module) } {} }
                    // Asked for at once, not when the first module has been read.
                    @else { link rel="modulepreload" href={ "/assets/" (module) }; }
                }
            }
            body { (body) }
        }
    }
    .into_string()
}

fn plain(title: &str, inner: &Markup) -> String {
    let body = html! { (sprite()) main.lone id="main" { div.hello { (crate::icon::with_class("mark", "piton")) (inner) } } };
    whole(
        &Attributes { title, build: "", list: "", file_bytes_max: 0, silence: Duration::ZERO },
        &body,
    )
}

/// The page that asks for the code that `piton serve` printed.
pub fn sign_in(problem: Option<&str>) -> String {
    let inner = html! {
        h1 { "Sign in" }
        p.lead { "Open the address that " code { "piton serve" } " printed. Its code is good once; " code { "piton serve status" } " prints another one." }
        @if let Some(problem) = problem { p.wrong role="alert" { (visible(problem)) } }
        form.row method="post" action="/sign-in" {
            label.sr for="code" { "Code" }
            input.field id="code" name="code" autocomplete="off" autofocus required placeholder="Code";
            button.b.main { "Sign in" }
        }
    };
    plain("Sign in", &inner)
}

/// A page that cannot be shown: what happened, then what to do, and the error's id.
pub fn problem(heading: &str, words: &str, id: &str) -> String {
    let inner = html! {
        h1 { (visible(heading)) }
        p.lead role="alert" { (visible(words)) }
        p { a.b href="/" { "To the conversations" } }
        p.hint.mono { (visible(id)) }
    };
    plain(heading, &inner)
}

/// What a new conversation can begin with.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Directories that may be worked in, the likely one first.
    pub directories: Vec<String>,
    /// Models that can be chosen, the one that is set first.
    pub models: Vec<Model>,
    /// What may run without asking, unless another mode is chosen.
    pub mode: PermissionMode,
    /// Why the model is the one it is, if somebody has to know: no key was found.
    pub remark: Option<String>,
}

/// The page's `#main` before a conversation begins.
pub fn start(start: &Start) -> Markup {
    html! {
        main.pane id="main" aria-label="New conversation" {
            header.bar {
                a.b.plain.icon.back href="/" aria-label="Conversations" { (icon("back")) }
                div.bar-title { h1 { "New conversation" } p { "no turn yet" } }
            }
            div id="link" hidden {}
            div.sheet {
                form.hello.composer-page method="post" action="/new" enctype="multipart/form-data" aria-label="New conversation" {
                    (crate::icon::with_class("mark", "piton"))
                    h2 { "What should be done?" }
                    p.lead { "A turn that begins here is never lost: close the page, stop the server or pull the plug, and go on with one button." }
                    @if let Some(remark) = &start.remark { p.hint { (icon("key")) " " (visible(remark)) } }
                    div.pair {
                        div {
                            label.label for="directory" { "Directory" }
                            select id="directory" name="directory" {
                                @for directory in &start.directories { option value=(directory) { (visible(directory)) } }
                            }
                        }
                        div {
                            label.label for="model" { "Model" }
                            select id="model" name="model" {
                                @for model in &start.models { option value=(model.name) { (model.shown) @if !model.about.is_empty() { " · " (model.about) } } }
                            }
                        }
                        div {
                            label.label for="mode" { "Permissions" }
                            select id="mode" name="permissions" { (mode_options(start.mode)) }
                        }
                    }
                    div.composer {
                        label.sr for="draft" { "Message" }
                        textarea id="draft" name="text" rows="2" dir="auto" placeholder="Message piton" enterkeyhint="send" autofocus required {}
                        div.foot {
                            input type="file" name="files" multiple aria-label="Attach files";
                            span.push {}
                            button.b.main { (icon("send")) "Send" }
                        }
                    }
                }
            }
        }
    }
}

/// Something that was found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The conversation, and the element in it.
    pub address: String,
    /// Its title.
    pub title: String,
    /// Where and when, in words.
    pub place: String,
    /// The text around it: pieces, and whether each is what was looked for.
    pub pieces: Vec<(String, bool)>,
}

/// The page's `#main` with what a search found.
pub fn hits(asked: &str, found: &[Hit], remark: &str) -> Markup {
    html! {
        main.pane id="main" aria-label="Search" {
            header.bar {
                a.b.plain.icon.back href="/" aria-label="Conversations" { (icon("back")) }
                div.bar-title { h1 { "Search" } p { "all conversations" } }
            }
            div id="link" hidden {}
            div.sheet {
                div {
                    form.big-find role="search" aria-label="Search all conversations" method="get" action="/search" {
                        (icon("find"))
                        label.sr for="q" { "Search all conversations" }
                        input.field id="q" name="q" type="search" value=(asked) autocomplete="off";
                    }
                    p.hint { (visible(remark)) }
                    ul.hits aria-label="Hits" {
                        @for hit in found {
                            li {
                                a.hit href=(hit.address) {
                                    span.top { b dir="auto" { (visible(&hit.title)) } small { (visible(&hit.place)) } }
                                    p dir="auto" {
                                        @for (text, is_it) in &hit.pieces {
                                            @if *is_it { mark { (visible(text)) } } @else { (visible(text)) }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn keys() -> Markup {
    let keys = [
        ("Ctrl K, /", "search"),
        ("Ctrl .", "stop"),
        ("c", "composer"),
        ("q", "next open question"),
        ("j, k", "next, previous item"),
        ("e", "to the end"),
        ("[, ]", "previous, next conversation"),
        ("n", "new conversation"),
        ("Enter", "send; while a turn runs, queue"),
        ("Ctrl Enter", "steer"),
        ("Shift Enter", "a new line"),
        ("@", "files: arrows, Tab takes, Esc closes"),
        ("y, n, a", "on a question: yes, no, rules; the first y or n goes to it"),
        ("y, f, r", "on a message: copy, fork, retry"),
        ("Esc", "back"),
    ];
    html! {
        h2 id="keys-h" { "Keys" }
        dl.keys { @for (key, does) in keys { dt { kbd { (key) } } dd { (does) } } }
        form method="dialog" {
            label.opt { input type="checkbox" id="no-letters"; span { "Single letters do nothing" } }
            button.b { "Close" }
        }
    }
}
