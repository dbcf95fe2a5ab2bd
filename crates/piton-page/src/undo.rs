//! What taking changes of files back would do, before it is done: of one call, and of all turns from one on.

use maud::{Markup, html};

use crate::icon::icon;
use crate::scene::Scene;
use crate::visible::visible;
use crate::when::count;

/// A change of a file whose old version is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which change it is. It has the same number when it is taken back and made again.
    pub number: usize,
    /// The file.
    pub path: String,
    /// What can be done with it.
    pub fate: Fate,
}

/// What can be done with a change, or with all changes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The file gets its old content.
    Restored,
    /// The file goes: it was not there before.
    Removed,
    /// It stays: somebody else changed it since.
    Conflict,
    /// It stays: a later turn changed it again.
    ChangedAgain(u32),
    /// It was taken back, and can be made again.
    TakenBack,
}

/// The fold in a call that leads to [`undo`].
pub(crate) fn fold(scene: &Scene<'_>, id: &str, call: &str) -> Markup {
    html! {
        details.undo id={ (id) "-undo" } {
            summary { (icon("retry")) "Undo this change…" }
            div.call-body {
                a.call-note data-load href=(scene.address(&format!("undo/{call}"))) { "What would become of the file" }
            }
        }
    }
}

/// What taking the changes of a call back would do, and the buttons that do it.
pub fn undo(address: &str, changes: &[Change]) -> Markup {
    html! {
        @if changes.is_empty() {
            p.call-note { "There is nothing to take back: the old version is no longer kept." }
        }
        @for Change { number, path, fate } in changes {
            form.call-note method="post" action=(address) {
                input type="hidden" name="change" value=(number);
                code dir="ltr" { (visible(path)) } span { (words(*fate)) }
                span.push {}
                @match fate {
                    Fate::Restored | Fate::Removed => button.b name="do" value="undo" { "Undo" },
                    Fate::TakenBack => button.b name="do" value="again" { "Make it again" },
                    Fate::Conflict | Fate::ChangedAgain(_) => {},
                }
            }
        }
        a.call-note data-load href=(address) { "Look again" }
    }
}

/// What going back in front of a turn would do: a fork, and the files if that is wanted.
pub fn back(address: &str, files: &[Change], ran: usize) -> Markup {
    let can_move = |fate: Fate| matches!(fate, Fate::Restored | Fate::Removed);
    let ran = u64::try_from(ran).unwrap_or(u64::MAX);
    html! {
        @if !files.is_empty() {
            ul.call-note aria-label="Files" {
                @for Change { path, fate, .. } in files {
                    li { code dir="ltr" { (visible(path)) } " " (words(*fate)) }
                }
            }
        }
        @if 0 < ran { p.call-note { "What " (count(ran, "command", "commands")) " changed is not taken back." } }
        form.call-note method="post" action=(address) {
            span { "A new conversation that ends in front of this message. This one stays as it is." }
            span.push {}
            button.b name="do" value="fork" { (icon("fork")) "Go back" }
            @if files.iter().any(|file| can_move(file.fate)) {
                button.b name="do" value="files" { "Go back, and take the files back" }
            }
        }
    }
}

fn words(fate: Fate) -> String {
    match fate {
        Fate::Restored => "gets its old content".to_owned(),
        Fate::Removed => "goes: it was not there before".to_owned(),
        Fate::Conflict => "stays: it was changed since by somebody else".to_owned(),
        Fate::ChangedAgain(turn) => format!("stays: it was changed again in turn {turn}"),
        Fate::TakenBack => "was taken back".to_owned(),
    }
}
