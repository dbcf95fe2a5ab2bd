//! Below the timeline: plan, queue, and the composer.

use maud::{Markup, html};
use piton_core::command::QueuePlace;
use piton_core::view::{MessagePart, PermissionMode, QueuedView, TaskStatus, UndoOutcome, View};

use crate::icon::{chevron, icon};
use crate::ident;
use crate::part::{Group, Part};
use crate::scene::{Scene, Stands};
use crate::visible::visible;
use crate::when::{count, time};

/// Longest text that is shown of a waiting message, in letters; the whole is there to be edited.
const QUEUED_LETTERS_MAX: usize = 200;

/// The element.
pub(crate) fn part(scene: &Scene<'_>, view: &View) -> Part {
    let kids = vec![
        Part::leaf("jump", jump().into_string()),
        Part::leaf("imported", imported(view).into_string()),
        Part::leaf("covered", covered(view).into_string()),
        Part::leaf("undone", undone(view).into_string()),
        Part::leaf("plan", plan(view).into_string()),
        Part::leaf("queue", queue(scene, view).into_string()),
        composer(scene, view),
    ];
    Group::new("div", "dock", " class=\"dock\"").kids(kids)
}

/// Where the module puts the way back to the end.
fn jump() -> Markup {
    html! { div.jump id="jump" hidden { button.b type="button" data-jump { (icon("down")) span { "To the end" } } } }
}

fn imported(view: &View) -> Markup {
    html! {
        @match &view.head.imported {
            Some(imported) => details.plan.turnable id="imported" {
                summary {
                    (chevron()) b { "Taken over" } " from " (visible(&imported.source.tool)) ", " (time(imported.at))
                    @if !imported.remarks.is_empty() {
                        " · " (count(u64::try_from(imported.remarks.len()).unwrap_or(0).saturating_add(imported.more), "remark", "remarks"))
                    }
                }
                ol {
                    @for remark in &imported.remarks {
                        li { span { @if 0 < remark.line { "line " (remark.line) ": " } (visible(&remark.kind)) " " (visible(&remark.text)) } }
                    }
                    @if 0 < imported.more { li { (imported.more) " more" } }
                }
            },
            None => details id="imported" hidden {},
        }
    }
}

fn covered(view: &View) -> Markup {
    html! {
        @match &view.covered {
            Some(covered) => details.plan.turnable id="covered" {
                summary {
                    (chevron()) b { "Summary" }
                    " the model sees it in place of "
                    @if 0 < covered.through.0 { "turns up to " (covered.through.0) } @else { "the first steps" }
                }
                @if let Some(fault) = &covered.fault { p.hint { "The model's summary " (visible(fault)) } }
                pre.out tabindex="0" dir="auto" { (visible(&covered.summary)) }
            },
            None => details id="covered" hidden {},
        }
    }
}

fn undone(view: &View) -> Markup {
    html! {
        @if view.undos.is_empty() { details id="undone" hidden {} } @else {
            details.plan.turnable id="undone" {
                summary { (chevron()) b { "Taken back" } " " (count(u64::try_from(view.undos.len()).unwrap_or(0), "change", "changes")) }
                ol {
                    @for undo in &view.undos {
                        li {
                            code dir="ltr" { (visible(&undo.path)) } " " (time(undo.at)) " "
                            (match undo.outcome {
                                None => "is being taken back",
                                Some(UndoOutcome::Done) if undo.again => "made again",
                                Some(UndoOutcome::Done) => "taken back",
                                Some(UndoOutcome::Left) => "left as it is",
                            })
                            @if !undo.text.is_empty() { ": " (visible(&undo.text)) }
                        }
                    }
                }
            }
        }
    }
}

fn plan(view: &View) -> Markup {
    let tasks = view.tasks();
    let done = tasks.iter().filter(|task| task.status == TaskStatus::Done).count();
    let now = tasks.iter().find(|task| task.status == TaskStatus::InProgress);
    html! {
        @if tasks.is_empty() { details id="plan" hidden {} } @else {
            details.plan.turnable id="plan" {
                summary {
                    (chevron()) b { "Plan" } " " (done) " of " (tasks.len())
                    @if let Some(now) = now { " · now: " span dir="auto" { (visible(&now.step)) } }
                }
                ol {
                    @for task in tasks {
                        @match task.status {
                            TaskStatus::Done => li data-is="done" { (icon("check")) span.sr { "done: " } span dir="auto" { (visible(&task.step)) } },
                            TaskStatus::InProgress => li data-is="now" { (icon("ring")) span.sr { "now: " } span dir="auto" { (visible(&task.step)) } },
                            TaskStatus::Pending | _ => li { (icon("dot")) span dir="auto" { (visible(&task.step)) } },
                        }
                    }
                }
            }
        }
    }
}

fn queue(scene: &Scene<'_>, view: &View) -> Markup {
    let total = view.queue.len();
    html! {
        @if total == 0 { section id="queue" hidden {} } @else {
            section id="queue" aria-label="Queue" {
                p.queue-head { b { "Waiting" } " " (count(u64::try_from(total).unwrap_or(0), "message", "messages")) span.saved { "in this order" } }
                ol.queue {
                    // What steers is told first.
                    @for place in [QueuePlace::Steer, QueuePlace::Next] {
                        @let all: Vec<_> = view.queue.iter().filter(|it| it.place == place).collect();
                        @for (at, queued) in all.iter().enumerate() { (waiting(scene, queued, (at, all.len()))) }
                    }
                }
            }
        }
    }
}

fn waiting(scene: &Scene<'_>, queued: &QueuedView, (at, total): (usize, usize)) -> Markup {
    let is_steering = queued.place == QueuePlace::Steer;
    let id = format!("queue-{}", ident::written(queued.id.as_str()));
    let text = text_of(&queued.parts);
    let files =
        queued.parts.iter().filter(|part| !matches!(part, MessagePart::Text { .. })).count();
    let action = scene.address("queue");
    let message = queued.id.as_str();
    html! {
        li id=(id) {
            @if is_steering { span.tag.now { "steer" } } @else { span.tag { "next " (at + 1) } }
            span dir="auto" {
                (visible(&piton_core::summary::shorten(&text, QUEUED_LETTERS_MAX)))
                @if 0 < files { " · " (count(u64::try_from(files).unwrap_or(0), "file", "files")) }
            }
            details.edit-of id={ (id) "-e" } {
                summary.b.plain.icon aria-label="Edit" { (icon("edit")) }
                form method="post" action=(action) {
                    input type="hidden" name="message" value=(message);
                    label.sr for={ (id) "-t" } { "Message" }
                    textarea.field id={ (id) "-t" } name="text" rows="3" dir="auto" { "\n" (text) }
                    button.b.main name="do" value="edit" { "Save" }
                }
            }
            form.acts method="post" action=(action) {
                input type="hidden" name="message" value=(message);
                @if 0 < at { button.b.plain.icon name="do" value="up" aria-label="Move up" { (icon("up")) } }
                @if at + 1 < total { button.b.plain.icon name="do" value="down" aria-label="Move down" { (icon("down")) } }
                @if is_steering { button.b.plain name="do" value="next" { "Next" } } @else { button.b.plain name="do" value="steer" { "Steer" } }
                button.b.plain.icon name="do" value="remove" aria-label="Remove" { (icon("x")) }
            }
        }
    }
}

fn text_of(parts: &[MessagePart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } => Some(&**text),
        MessagePart::File { .. } | MessagePart::InlinedFile { .. } | _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// What a person types into. Never replaced: only what it offers moves.
fn composer(scene: &Scene<'_>, view: &View) -> Part {
    let stands = view.open_turn().map(|turn| Stands::of(scene, turn));
    let (is, placeholder) = match stands {
        None | Some(Stands::Closed) => ("idle", "Message piton"),
        Some(Stands::Runs) => ("busy", "Add to this turn, or queue the next message"),
        Some(Stands::Asks) => ("busy", "Answer above, or add a message"),
        Some(Stands::Failed) => ("broken", "Retry above, or add a message: it resumes the turn"),
        Some(Stands::Halted | Stands::Lost) => {
            ("broken", "Add a message: it resumes the turn and keeps the work")
        }
    };
    let label = html! { label.sr for="draft" { "Message" } };
    let fixed = " name=\"text\" rows=\"1\" dir=\"auto\" enterkeyhint=\"send\"";
    let draft = Group::new("textarea", "draft", fixed)
        .attr("placeholder", Some(placeholder.to_owned()))
        .kids(Vec::new());
    let files = html! { ul.files id="files" aria-label="Attachments" hidden {} };
    let foot = vec![
        Part::leaf("attach", attach().into_string()),
        Part::leaf("model-of", model(scene).into_string()),
        Part::leaf("mode-of", mode(scene).into_string()),
        Part::leaf("send", send(scene, is).into_string()),
    ];
    let kids = vec![
        Part::leaf("files", files.into_string()),
        draft,
        Group::new("div", "foot", " class=\"foot\"").kids(foot),
    ];
    let fixed = format!(
        " class=\"composer\" method=\"post\" action=\"{}\" enctype=\"multipart/form-data\" aria-label=\"Composer\"",
        scene.address("say")
    );
    let form = Group::new("form", "composer", &fixed).attr("data-is", Some(is.to_owned()));
    form.head(label.into_string()).kids(kids)
}

fn attach() -> Markup {
    html! {
        label.b.plain.icon id="attach" title="Attach files" {
            span.sr { "Attach files" } (icon("clip"))
            input.sr type="file" name="files" multiple;
        }
    }
}

fn model(scene: &Scene<'_>) -> Markup {
    html! {
        span id="model-of" {
            label.sr for="model" { "Model" }
            select.quiet.model id="model" name="model" data-sets="model" { (scene.model_options()) }
        }
    }
}

fn mode(scene: &Scene<'_>) -> Markup {
    html! {
        span id="mode-of" {
            label.sr for="mode" { "Permissions" }
            select.quiet id="mode" name="permissions" data-sets="permissions" { (mode_options(scene.head.mode)) }
        }
    }
}

/// Options of a choice of permission modes.
pub(crate) fn mode_options(chosen: PermissionMode) -> Markup {
    let modes = [
        (PermissionMode::Ask, "ask", "ask"),
        (PermissionMode::AcceptEdits, "accept-edits", "accept edits"),
        (PermissionMode::Auto, "auto", "auto"),
        (PermissionMode::ReadOnly, "read-only", "read only"),
        (PermissionMode::Plan, "plan", "plan"),
    ];
    html! {
        @for (mode, name, words) in modes { option value=(name) selected[mode == chosen] { (words) } }
    }
}

fn send(scene: &Scene<'_>, is: &str) -> Markup {
    html! {
        span.sends id="send" {
            span.saved id="saved" {}
            @if is == "busy" {
                button.b formaction=(scene.address("stop")) name="do" value="interrupt" title="Ctrl + ." data-stop { (icon("stop")) span.word { "Stop" } }
                button.b name="how" value="steer" title="Ctrl + Enter: told before the next step" { "Steer" }
                button.b.main name="how" value="next" { "Queue" }
            } @else {
                button.b.main name="how" value="now" { (icon("send")) "Send" }
            }
        }
    }
}
