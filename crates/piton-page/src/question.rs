//! A question to a person: a card as long as it is open, a line when it is answered.

use maud::{Markup, html};
use piton_core::question::{Field, FieldKind, Form};
use piton_core::view::{
    Always, Choice, InquiryKind, QuestionView, RuleEffect, RuleScope, Shape, Wants,
};
use serde_json::Value;

use crate::diff::{Extent, Table};
use crate::icon::icon;
use crate::ident;
use crate::part::Part;
use crate::scene::Scene;
use crate::visible::visible;
use crate::when::{count, time};
use crate::words;

/// Longest arguments that are shown in a card, in bytes; the rest is loaded by a click.
const ARGUMENTS_BYTES_MAX: usize = 16 * 1024;

/// The element of a question.
pub(crate) fn part(scene: &Scene<'_>, asked: &QuestionView) -> Part {
    let id = scene.named(&ident::question(&asked.id));
    let html = if asked.open { card(scene, asked, &id) } else { line(asked, &id) };
    Part::leaf(id, html.into_string())
}

fn line(asked: &QuestionView, id: &str) -> Markup {
    html! {
        p.at.under.asked id=(id) tabindex="-1" {
            span.node.dot {}
            span dir="auto" { (visible(&asked.heading)) }
            @match &asked.answer {
                Some(answer) => span { (visible(&words::answered(answer))) ", " (time(answer.at)) },
                None => span { "no longer asked" },
            }
        }
    }
}

fn card(scene: &Scene<'_>, asked: &QuestionView, id: &str) -> Markup {
    let all = &scene.head.asking;
    let place = all.iter().position(|it| it.question == asked.id).map_or(1, |at| at + 1);
    let action = scene.address(&format!("answer/{}", ident::in_address(asked.id.as_str())));
    html! {
        form.at.ask id=(id) method="post" action=(action) aria-labelledby={ (id) "-h" } autocomplete="off" {
            span.node.is-ask { (icon("hand")) }
            // What is asked has a box of its own: its heading stays in sight and never covers the buttons.
            div.matter {
                header {
                    h3 id={ (id) "-h" } tabindex="-1" dir="auto" { (visible(&asked.heading)) }
                    small {
                        @if 1 < all.len() { (place) " of " (all.len()) " · " }
                        "asked by " (visible(&asked.tool)) " · " (time(asked.at))
                    }
                }
                @if asked.kind == InquiryKind::Permission { (what(asked)) }
                @match (&asked.kind, &asked.wants) {
                    (InquiryKind::Question, Some(wants)) => div.body { (fields(wants, id)) },
                    (InquiryKind::Question, None) => div.body { (fields(&Wants::default(), id)) },
                    _ => (content(asked, id, &scene.address(&whole_address(asked)))),
                }
            }
            @match asked.kind {
                InquiryKind::Permission => (permission(asked, id)),
                InquiryKind::InDoubt => (in_doubt(asked, id)),
                InquiryKind::Question => (question(asked)),
            }
        }
    }
}

/// Where all of what a question is about can be read, under the address of the conversation.
fn whole_address(asked: &QuestionView) -> String {
    format!("question/{}", ident::in_address(asked.id.as_str()))
}

/// All of what a question is about, however long it is.
pub(crate) fn whole(asked: &QuestionView) -> Markup {
    match table(asked) {
        Some(table) => table.html("Proposed changes in", Extent::Whole),
        None => {
            html! { pre.out tabindex="0" dir="ltr" aria-label="What it runs with" { (visible(&runs_with(asked))) } }
        }
    }
}

fn permission(asked: &QuestionView, id: &str) -> Markup {
    html! {
        div.acts-row {
            button.b.main name="answer" value="yes" { "Allow once " kbd { "Y" } }
            button.b name="answer" value="no" { "Deny " kbd { "N" } }
            label.sr for={ (id) "-why" } { "Why not, or what to do instead" }
            input.field id={ (id) "-why" } name="why" placeholder="Say why not, or what to do instead";
        }
        @if let Some(text) = &asked.changeable {
            details.rules id={ (id) "-change" } {
                summary { "Change it first…" }
                div.body {
                    label.label for={ (id) "-text" } { "Run this instead" }
                    textarea.field.mono id={ (id) "-text" } name="change" rows="3" dir="ltr" { "\n" (text) }
                    div.row {
                        button.b name="answer" value="change" { "Run the changed call" }
                        span.hint { "The model is told." }
                    }
                }
            }
        }
        (rules(asked, id))
    }
}

/// What the call works on, in a line.
fn what(asked: &QuestionView) -> Markup {
    let found = asked.found.as_ref();
    let change = found.and_then(|found| found.change.as_deref());
    let path = found.and_then(|found| found.path.as_deref()).or(asked.path.as_deref());
    html! {
        p.what {
            code { (visible(&asked.tool)) } " "
            @if let Some(path) = path { span dir="ltr" { (visible(path)) } }
            @if let Some(change) = change {
                " · adds " (count(change.lines_new, "line", "lines"))
                ", removes " (count(change.lines_lost, "line", "lines"))
                @if change.bytes_replaced.is_none() { ", a new file" }
            }
        }
        @if let Some(why) = found.and_then(|found| found.refused.as_deref()) {
            p.err { "As things are, it could not start: " (visible(why)) }
        }
        @for line in &asked.opens { p.what { (visible(line)) } }
        @if asked.frees { p.what { "A yes runs it outside the sandbox." } }
        @if !asked.parts.is_empty() {
            ul.body.kept aria-label="Commands" {
                @for part in &asked.parts {
                    li {
                        @if part.is_allowed { (icon("check")) } @else { (icon("hand")) }
                        span {
                            code dir="ltr" { (visible(&part.command)) }
                            @if part.is_allowed { " · a rule allows it" }
                        }
                    }
                }
            }
        }
    }
}

/// The difference that the call would make.
fn table(asked: &QuestionView) -> Option<Table> {
    let change = asked.found.as_ref().and_then(|found| found.change.as_deref());
    let diff = change.and_then(|change| change.diff.as_ref());
    Table::of_question(diff, asked.edit.as_ref(), asked.path.as_deref().unwrap_or_default())
}

/// What the call runs with, where it changes no text: its command, else its arguments.
fn runs_with(asked: &QuestionView) -> String {
    let arguments = asked.arguments.as_deref().unwrap_or_default();
    let value: Option<Value> = serde_json::from_str(arguments).ok();
    match value.as_ref().and_then(|value| value.get("command")).and_then(Value::as_str) {
        Some(command) => command.to_owned(),
        None => value
            .and_then(|value| serde_json::to_string_pretty(&value).ok())
            .unwrap_or_else(|| arguments.to_owned()),
    }
}

/// What the call would do: the difference, else the edit, else the arguments. What does not fit the card is
/// loaded by a click.
fn content(asked: &QuestionView, id: &str, all: &str) -> Markup {
    if let Some(table) = table(asked) {
        return table.html("Proposed changes in", Extent::Card { id, all });
    }
    let text = runs_with(asked);
    let end = text.floor_char_boundary(ARGUMENTS_BYTES_MAX.min(text.len()));
    html! {
        pre.out tabindex="0" dir="ltr" aria-label="What it runs with" {
            (visible(text.get(..end).unwrap_or_default()))
            @if end < text.len() { "\n[" (text.len() - end) " more bytes]" }
        }
        @if end < text.len() {
            details.more id={ (id) "-all" } {
                summary { "All of it" }
                div.call-body { a.call-note data-load href=(all) { "All of it" } }
            }
        }
    }
}

/// Decisions for later calls too, as the terminal offers them.
fn rules(asked: &QuestionView, id: &str) -> Markup {
    let with = |effect| asked.always.iter().filter(move |it| it.effect == effect);
    let may = |effect| with(effect).next().is_some();
    let shown = if may(RuleEffect::Allow) { RuleEffect::Allow } else { RuleEffect::Deny };
    html! {
        details.rules id={ (id) "-rules" } {
            summary { "Make it a rule: always or never…" }
            div.body {
                @if let Some(why) = &asked.no_rule { p.hint { "No rule can be offered that allows it: " (visible(why)) "." } }
                @if may(shown) {
                    fieldset.opts {
                        legend.sr { "How far the rule reaches" }
                        @for (at, always) in with(shown).enumerate() { (offer(always, at == 0)) }
                    }
                }
                div.row {
                    @if may(RuleEffect::Allow) { button.b name="answer" value="always" { "Always allow" } }
                    @if may(RuleEffect::Deny) { button.b.risk name="answer" value="never" { "Never" } }
                    button.b.plain name="answer" value="applied" { "I did it by hand" }
                }
            }
        }
    }
}

fn offer(always: &Always, is_first: bool) -> Markup {
    let (name, kept) = words::scope(always.scope);
    let rules: Vec<_> = always.rules.iter().map(words::rule).collect();
    html! {
        label.opt {
            input type="radio" name="rule" value=(rule_value(always)) checked[is_first];
            span {
                b { (name) } " "
                code dir="ltr" { (visible(&rules.join(", "))) }
                small { (kept) }
            }
        }
    }
}

/// What a form says of an offer: its scope and its width.
fn rule_value(always: &Always) -> String {
    let scope = match always.scope {
        RuleScope::Conversation => "conversation",
        RuleScope::Project => "project",
        RuleScope::User => "user",
    };
    format!("{scope}.{}", always.width.word())
}

fn in_doubt(asked: &QuestionView, id: &str) -> Markup {
    let may = |choice| asked.choices.contains(&choice);
    html! {
        div.acts-row {
            @if may(Choice::LookAgain) { button.b.main name="answer" value="look_again" { "Look again" } }
            @if may(Choice::RunAgain) { button.b name="answer" value="run_again" { "Run it again" } }
            @if may(Choice::TreatAsDone) { button.b name="answer" value="treat_as_done" { "Take it for done" } }
            @if may(Choice::GiveResult) {
                label.sr for={ (id) "-text" } { "What it gave" }
                input.field id={ (id) "-text" } name="text" placeholder="Say what it gave";
                button.b name="answer" value="text" { "Give this result" }
            }
        }
    }
}

fn question(asked: &QuestionView) -> Markup {
    let is_confirm = asked.wants.as_ref().is_some_and(|wants| wants.shape == Shape::Confirm);
    html! {
        div.acts-row {
            @if is_confirm {
                button.b.main name="text" value="yes" { "Yes " kbd { "Y" } }
                button.b name="text" value="no" { "No " kbd { "N" } }
            } @else {
                button.b.main name="answer" value="text" { "Answer" }
            }
            button.b.plain name="answer" value="cancel" { "No answer" }
            span.hint { "The turn waits. It can be answered from any terminal: " code { "piton answer" } }
        }
    }
}

fn fields(wants: &Wants, id: &str) -> Markup {
    let default = wants.default.as_deref().unwrap_or_default();
    match &wants.shape {
        Shape::Confirm => {
            html! { @if !default.is_empty() { p.hint { "default: " (visible(default)) } } }
        }
        Shape::Text => html! {
            label.sr for={ (id) "-text" } { "Answer" }
            textarea.field id={ (id) "-text" } name="text" rows="2" dir="auto" { "\n" (default) }
        },
        Shape::Secret => html! {
            label.label for={ (id) "-text" } { "Secret" }
            input.field id={ (id) "-text" } name="secret" type="password" autocomplete="off";
            p.hint { "Given to the tool, never written down." }
        },
        Shape::Choice { options } => html! {
            fieldset.opts {
                legend.sr { "Answers" }
                @for (at, option) in options.iter().enumerate() {
                    label.opt {
                        // Where own words are an answer nothing is chosen in advance: without the module
                        // that choice would be sent in the place of what somebody typed.
                        input type="radio" name="text" value=(option)
                            checked[!wants.own_words && if default.is_empty() { at == 0 } else { option == default }];
                        span dir="auto" {
                            (visible(option))
                            @if wants.own_words && option == default { " " small { "if nothing is chosen" } }
                        }
                    }
                }
                @if wants.own_words {
                    label.opt {
                        input type="radio" name="text" value="";
                        span { "Something else" }
                    }
                    label.sr for={ (id) "-own" } { "In your own words" }
                    input.field id={ (id) "-own" } name="own" dir="auto" placeholder="In your own words";
                }
            }
        },
        Shape::Form { schema } => html! {
            div.pair {
                @for (at, field) in Form::new(schema).fields.iter().enumerate() {
                    (form_field(field, &format!("{id}-f{at}")))
                }
            }
        },
    }
}

/// A field of a form. Its value is read by its type where the answer is taken.
fn form_field(field: &Field, id: &str) -> Markup {
    let default = match &field.default {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    };
    let name = format!("field.{}", field.name);
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    html! {
        div {
            label.label for=(id) dir="auto" { (visible(&field.title)) @if !field.required { " " span.hint { "(optional)" } } }
            @if !field.choices.is_empty() {
                select id=(id) name=(name) {
                    @if !field.required { option value="" { "" } }
                    @for choice in &field.choices {
                        option value=(text(choice)) selected[text(choice) == default] { (visible(&text(choice))) }
                    }
                }
            } @else if field.kind == FieldKind::Boolean {
                select id=(id) name=(name) {
                    @if !field.required { option value="" { "" } }
                    option value="true" selected[default == "true"] { "yes" }
                    option value="false" selected[default == "false"] { "no" }
                }
            } @else if matches!(field.kind, FieldKind::Integer | FieldKind::Number) {
                input.field id=(id) name=(name) inputmode="decimal" value=(default) required[field.required];
            } @else {
                input.field id=(id) name=(name) dir="auto" value=(default) required[field.required];
            }
            @if matches!(field.kind, FieldKind::List | FieldKind::Any) { p.hint { "As JSON." } }
        }
    }
}
