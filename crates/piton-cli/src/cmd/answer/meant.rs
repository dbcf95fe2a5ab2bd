//! What somebody answers, to which questions, and what stands from then on. Nothing is written here.

use piton::Reply;
use piton_agent::Settings;
use piton_core::id::ConversationId;
use piton_core::view::{Choice, InquiryKind, QuestionView, RuleEffect, Shape, View, Wants};

use crate::ask::{FormPrompt, Heard, Offer, Prompt};
use crate::flags::{Answer, Scope};
use crate::report::Fault;

/// What is answered to which question.
#[derive(Debug)]
pub(super) struct Meant {
    pub(super) asked: QuestionView,
    pub(super) reply: Reply,
    /// What stands from now on.
    pub(super) offer: Option<Offer>,
}

/// The first question, or all permissions that are asked for now, by conversation. What is asked later
/// nobody has seen yet. One that is not answered by this fails all of them.
pub(super) fn meant(
    askers: &[(ConversationId, View)],
    answer: &Answer,
    settings: &Settings,
) -> Result<Vec<(ConversationId, Vec<Meant>)>, Fault> {
    let mut all = Vec::new();
    let mut left = if answer.all { usize::MAX } else { 1 };
    for (asker, view) in askers {
        let open = view
            .open_questions()
            .filter(|asked| !answer.all || asked.kind == InquiryKind::Permission);
        let mut own = Vec::new();
        for asked in open.take(left) {
            let offers = Offer::all(asked, &view.head.workspace, settings.file.as_deref());
            let (reply, offer) = understand(asked, answer, offers)?;
            own.push(Meant { asked: asked.clone(), reply, offer });
        }
        left -= own.len();
        if !own.is_empty() {
            all.push((asker.clone(), own));
        }
    }
    Ok(all)
}

/// What was answered, and what stands from now on.
fn understand(
    asked: &QuestionView,
    answer: &Answer,
    offers: Vec<Offer>,
) -> Result<(Reply, Option<Offer>), Fault> {
    let words = words(asked, &offers).join(", ");
    let mut prompt = Prompt::new(asked.clone(), offers);
    if prompt.is_secret() && !answer.decline {
        // A secret on a command line stays in the history of the shell.
        return Err(Fault::SecretOnTerminal { question: asked.heading.clone() });
    }
    let mut more = Vec::new();
    let heard = match (&answer.word, &answer.text) {
        _ if answer.decline && asked.kind == InquiryKind::Question => Heard::Reply(Reply::Deny),
        _ if answer.decline => Heard::Ask,
        // Which of the two is meant is not known.
        (Some(_), Some(_)) if asked.kind != InquiryKind::Permission => Heard::Ask,
        // One command for several calls is not what anybody means.
        (Some(word), Some(_)) if answer.all && word.starts_with('e') => Heard::Ask,
        (word, text) if asked.kind == InquiryKind::Question => {
            // A word is one of those that are listed; a text can be another one.
            let wants = asked.wants.as_ref();
            let wants =
                if text.is_some() { wants.cloned() } else { wants.map(Wants::without_own_words) };
            let typed = text.as_ref().or(word.as_ref());
            match typed.map(|typed| read(asked, wants.as_ref(), typed)) {
                Some(Ok(words)) => Heard::Reply(Reply::Text(words)),
                Some(Err(takes)) => {
                    // Which words there are is said in any case.
                    more.extend((!has_words(asked)).then_some(takes));
                    more.extend(form_lines(asked));
                    Heard::Ask
                }
                None => Heard::Ask,
            }
        }
        (_, Some(text)) if asked.kind == InquiryKind::InDoubt => {
            Heard::Reply(Reply::Text(text.clone()))
        }
        // What runs instead, or why it does not run.
        (Some(word), Some(text)) => prompt.hear(&format!("{word} {text}")),
        (Some(word), _) => prompt.hear(&with_scope(word, answer.scope)),
        (None, _) => Heard::Ask,
    };
    let heard = match (heard, answer.width) {
        (Heard::Reply(Reply::Always(standing)), Some(width)) => {
            prompt.as_wide(standing, width.into()).map_or(Heard::Ask, Heard::Reply)
        }
        (heard, _) => heard,
    };
    let Heard::Reply(reply) = heard else {
        if asked.kind == InquiryKind::Permission && answer.word.as_deref() == Some("edit") {
            more.push("what runs instead comes with it: piton answer edit --text COMMAND".into());
        }
        if answer.all {
            more.push("nothing is answered and no rule is written; without --all, each call is answered by itself".into());
        }
        return Err(Fault::NoAnswer { question: asked.heading.clone(), words, more });
    };
    let offer = prompt.offered(&reply);
    Ok((reply, offer))
}

/// Whether the answers are words that can be listed.
fn has_words(asked: &QuestionView) -> bool {
    let shape = asked.wants.as_ref().map(|wants| &wants.shape);
    matches!(shape, Some(Shape::Confirm | Shape::Choice { .. }))
}

/// A variable that is not set gives an empty answer: nobody means that.
fn read(asked: &QuestionView, wants: Option<&Wants>, typed: &str) -> Result<String, String> {
    let has_default = wants.is_some_and(|wants| wants.default.is_some());
    if typed.trim().is_empty() && !has_default && !has_words(asked) {
        return Err("the answer is empty; --decline says that there is none".into());
    }
    match wants {
        Some(wants) => wants.read(typed),
        None => Ok(typed.to_owned()),
    }
}

/// The word with how far it reaches. On a command line nobody is asked back.
fn with_scope(word: &str, scope: Option<Scope>) -> String {
    let scope = match (scope, word.to_lowercase().as_str()) {
        (Some(Scope::Project), _) => "project",
        (Some(Scope::User), _) => "user",
        (Some(Scope::Conversation), _) | (None, "a" | "always" | "v" | "never") => "conversation",
        (None, _) => "",
    };
    format!("{word} {scope}")
}

/// What can be answered.
pub(super) fn words<'a>(asked: &'a QuestionView, offers: &[Offer]) -> Vec<&'a str> {
    let may = |effect| offers.iter().any(|offer| offer.standing.effect == effect);
    match asked.kind {
        InquiryKind::Permission => ["yes", "no"]
            .into_iter()
            .chain(may(RuleEffect::Allow).then_some("always"))
            .chain(may(RuleEffect::Deny).then_some("never"))
            .chain(asked.changeable.as_ref().map(|_| "edit"))
            .chain(["applied"])
            .collect(),
        InquiryKind::InDoubt if asked.choices.contains(&Choice::LookAgain) => {
            vec!["wait", "done", "unknown", "--text RESULT"]
        }
        InquiryKind::InDoubt => vec!["run", "done", "unknown", "--text RESULT"],
        InquiryKind::Question => match asked.wants.as_ref().map(|wants| &wants.shape) {
            Some(Shape::Confirm) => vec!["yes", "no", "--decline"],
            Some(Shape::Choice { options }) => {
                let is_open = asked.wants.as_ref().is_some_and(|wants| wants.own_words);
                let own = is_open.then_some("--text TEXT");
                options.iter().map(String::as_str).chain(own).chain(["--decline"]).collect()
            }
            Some(Shape::Form { .. }) => vec!["--text JSON", "--decline"],
            Some(Shape::Secret) => vec!["--decline"],
            Some(Shape::Text) | None => vec!["--text TEXT", "--decline"],
        },
    }
}

/// What a form wants in each field, and an answer that fits. Nothing if it is no form.
pub(super) fn form_lines(asked: &QuestionView) -> Vec<String> {
    let Some(Shape::Form { schema }) = asked.wants.as_ref().map(|wants| &wants.shape) else {
        return Vec::new();
    };
    let form = FormPrompt::new(schema);
    let mut lines = form.told();
    // In single quotes, as a shell reads it.
    let example = form.example().replace('\'', r"'\''");
    lines.push(format!("for example: piton answer --text '{example}'"));
    lines
}
