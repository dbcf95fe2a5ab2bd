//! What a form says to a question.

use piton::Reply;
use piton::view::{Always, InquiryKind, QuestionView, RuleEffect, RuleScope, Shape};
use piton_core::question::{Field, FieldKind, Form as Wanted, Secret};
use serde_json::{Map, Value};

use super::form::Form;
use crate::fault::{Fault, Kind};

/// The answer that was pressed and typed.
pub(super) fn reply(form: &Form, asked: &QuestionView) -> Result<Reply, Fault> {
    let text = |name: &str| form.get(name).map(ToOwned::to_owned);
    Ok(match form.get("answer").unwrap_or("text") {
        "yes" => Reply::Allow,
        "no" => text("why").map_or(Reply::Deny, Reply::DenyBecause),
        "always" => Reply::Keep(rules(form, asked, RuleEffect::Allow)?),
        "never" => Reply::Keep(rules(form, asked, RuleEffect::Deny)?),
        "change" => Reply::Change(text("change").ok_or_else(|| empty("the changed call"))?),
        "applied" => Reply::Applied,
        "run_again" => Reply::RunAgain,
        "treat_as_done" => Reply::TreatAsDone,
        "look_again" => Reply::LookAgain,
        "cancel" => Reply::Cancel,
        "text" if asked.kind == InquiryKind::Question => told(form, asked)?,
        "text" => Reply::Text(text("text").ok_or_else(|| empty("the result"))?),
        other => return Err(Fault::bad(format!("nobody asks for the answer {other:?}"))),
    })
}

fn empty(what: &str) -> Fault {
    Fault::bad(format!("{what} is empty"))
}

/// The rules of the offer that was chosen.
fn rules(
    form: &Form,
    asked: &QuestionView,
    effect: RuleEffect,
) -> Result<Vec<piton::view::PermissionRule>, Fault> {
    let chosen = form.get("rule").unwrap_or("conversation.exactly");
    let (scope, width) = chosen.split_once('.').unwrap_or((chosen, ""));
    let is_chosen = |always: &&Always| {
        (always.effect, word(always.scope), always.width.word()) == (effect, scope, width)
    };
    // Never another one: it may reach further than what was chosen.
    let offer = asked.always.iter().find(is_chosen);
    let offer = offer.ok_or_else(|| Fault::new(Kind::Refused, "no such rule is offered"))?;
    Ok(offer.rules.clone())
}

fn word(scope: RuleScope) -> &'static str {
    match scope {
        RuleScope::Conversation => "conversation",
        RuleScope::Project => "project",
        RuleScope::User => "user",
    }
}

/// What a tool wanted to know.
fn told(form: &Form, asked: &QuestionView) -> Result<Reply, Fault> {
    match asked.wants.as_ref().map(|wants| &wants.shape) {
        Some(Shape::Secret) => {
            let secret = form.get("secret").ok_or_else(|| empty("the secret"))?;
            Ok(Reply::Secret(Secret::new(secret)))
        }
        Some(Shape::Form { schema }) => {
            let mut filled = Map::new();
            for field in Wanted::new(schema).fields {
                let typed = form.get(&format!("field.{}", field.name)).map(ToOwned::to_owned);
                if let Some(typed) = typed {
                    filled.insert(field.name.clone(), value(&field, &typed)?);
                }
            }
            Ok(Reply::Text(Value::Object(filled).to_string()))
        }
        Some(Shape::Choice { .. }) => {
            let default = asked.wants.as_ref().and_then(|wants| wants.default.as_deref());
            let said = form.get("text").or_else(|| form.get("own")).or(default);
            let none = || Fault::bad("no answer is chosen").hint("choose one, or write your own");
            Ok(Reply::Text(said.ok_or_else(none)?.to_owned()))
        }
        Some(Shape::Text | Shape::Confirm) | None => {
            Ok(Reply::Text(form.get("text").unwrap_or_default().to_owned()))
        }
    }
}

/// What was typed into a field, by its type.
fn value(field: &Field, typed: &str) -> Result<Value, Fault> {
    let is_text = |value: &Value| value.as_str() == Some(typed);
    if field.kind == FieldKind::Text || field.choices.iter().any(is_text) {
        return Ok(typed.into());
    }
    match (serde_json::from_str(typed), field.kind) {
        (Ok(value), _) => Ok(value),
        (Err(_), FieldKind::Any) => Ok(typed.into()),
        (Err(_), _) => Err(Fault::bad(format!("{} does not take {typed:?}", field.title))),
    }
}
