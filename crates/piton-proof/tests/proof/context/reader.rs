//! The model that works and is asked: a function of the bytes of its request.
//!
//! It works through steps, each of which says which one is next. Where it is asked for a fact, it answers
//! from the text that it was sent; what is not there it looks for once with `recall`, if that is offered;
//! what is not there either it does not know.

use piton_core::transcript::SUMMARY_HEADING;
use serde_json::{Value, json};

use super::facts::{Act, Class, Fact, act};
use super::heard::{Heard, Said, Who};

/// Behind the call that wrote a file, where nothing is said of what became of it since.
pub(crate) const THEN: &str = "then";
/// What is looked for with, and what strangers wrote.
const RECALL: &str = "recall";
const PAGE: &str = "web_fetch";
/// Lines of a search: a fact is stated once, perhaps corrected once, and denied by a stranger or two.
const RECALL_LINES: u64 = 4;

/// An answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, Value)>,
    /// What was asked for, as it was answered.
    pub(crate) answers: Vec<Answer>,
}

/// How a fact was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) fact: Fact,
    /// None is "unknown".
    pub(crate) value: Option<String>,
    pub(crate) by_recall: bool,
}

/// Answers a request.
pub(crate) fn answer(heard: &Heard) -> Reply {
    let last = heard.talk.iter().rposition(|said| matches!(said.who, Who::Assistant | Who::Call));
    let fresh = &heard.talk[last.map_or(0, |place| place + 1)..];
    if fresh.iter().any(|said| said.tool == RECALL) {
        return answer_recalled(heard, fresh);
    }
    let asked: Vec<Fact> = fresh.iter().filter(|said| !is_summary(said)).flat_map(asks).collect();
    if asked.is_empty() {
        return go_on(heard);
    }
    answer_asked(heard, &asked)
}

/// Facts that a text asks for.
fn asks(said: &Said) -> Vec<Fact> {
    let keys = said.text.lines().filter_map(|line| line.strip_prefix("ASK "));
    keys.filter_map(|key| Fact::of_key(key.trim())).collect()
}

fn answer_asked(heard: &Heard, asked: &[Fact]) -> Reply {
    let mut reply = Reply::default();
    for fact in asked {
        let value = find(heard, *fact);
        if value.is_none() && heard.tools.iter().any(|tool| tool == RECALL) {
            let (query, kind) = (pattern(*fact), whose(fact.class));
            let arguments = json!({ "query": query, "kind": kind, "limit": RECALL_LINES });
            reply.calls.push((RECALL.into(), arguments));
        } else {
            reply.answers.push(Answer { fact: *fact, value, by_recall: false });
        }
    }
    if reply.calls.is_empty() {
        return with_work(heard, reply);
    }
    // Said here, because what asked may be summed up by then.
    if let Some(step) = next(heard) {
        reply.text = format!("I look for it. NEXT {step}");
    }
    reply
}

fn answer_recalled(heard: &Heard, fresh: &[Said]) -> Reply {
    let mut reply = Reply::default();
    for result in fresh.iter().filter(|said| said.tool == RECALL) {
        let mut calls = heard.talk.iter().filter(|said| said.who == Who::Call);
        let call = calls.rfind(|said| said.call == result.call).unwrap();
        let arguments: Value = serde_json::from_str(&call.text).unwrap();
        let query = arguments["query"].as_str().unwrap();
        let fact = Fact::of_key(key_in(query)).unwrap();
        let value = recalled(&result.text, fact);
        reply.answers.push(Answer { fact, value, by_recall: true });
    }
    with_work(heard, reply)
}

/// What is looked for: the key as it is stated, not as it is asked for.
fn pattern(fact: Fact) -> String {
    match fact.class {
        Class::Command => format!(r#"/"name":"{fact}"/"#),
        Class::File => format!(r#"/"path":"{}"/"#, fact.path()),
        _ => format!("/{} {fact} = /", fact.class.word()),
    }
}

/// Whose words are looked for: strangers may state the same keys, and more often.
fn whose(class: Class) -> &'static str {
    match class {
        Class::Rule | Class::DeepRule | Class::Instruction => "user",
        Class::Decision | Class::Corrected => "assistant",
        Class::Number
        | Class::Command
        | Class::Error
        | Class::File
        | Class::Plan
        | Class::Running => "tool",
    }
}

fn key_in(query: &str) -> &str {
    let is_key =
        |word: &&str| word.split_once('_').is_some_and(|(_, it)| it.parse::<u32>().is_ok());
    let words = query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.into_iter().find(is_key).unwrap_or_default()
}

/// What a search gave: the newest line that is no stranger's.
fn recalled(result: &str, fact: Fact) -> Option<String> {
    let lines = result.lines().filter(|line| !line.contains("(foreign text)"));
    let mut found = lines.filter_map(|line| match fact.class {
        Class::Command => exit_code(line),
        // By whom, but not whether it is still so.
        Class::File => None,
        _ => stated(line, fact),
    });
    found.next()
}

/// What the text says, the newest words last.
fn find(heard: &Heard, fact: Fact) -> Option<String> {
    let in_system = stated(&heard.system, fact).filter(|_| fact.class == Class::Instruction);
    let said = heard.talk.iter().filter_map(|said| found_in(said, fact));
    in_system.into_iter().chain(said).last()
}

fn found_in(said: &Said, fact: Fact) -> Option<String> {
    if is_summary(said) {
        return in_summary(&said.text, fact);
    }
    let Said { who, text, call, tool } = said;
    match fact.class {
        Class::Rule | Class::DeepRule | Class::Instruction if *who == Who::User => {
            stated(text, fact)
        }
        Class::Decision | Class::Corrected if *who == Who::Assistant => stated(text, fact),
        Class::Number | Class::Error if *who == Who::Result && tool != PAGE && tool != RECALL => {
            stated(text, fact)
        }
        Class::Command if *who == Who::Result && tool == "run" => {
            text.contains(&fact.to_string()).then(|| exit_code(text)).flatten()
        }
        Class::File if *who == Who::Call && tool == "write_file" => {
            let call = call.strip_prefix("call_").unwrap_or(call).replace('_', ".");
            text.contains(&format!("\"{}\"", fact.path())).then(|| format!("{call} {THEN}"))
        }
        Class::Plan if *who == Who::Call && tool == "update_plan" => {
            text.contains(&fact.to_string()).then(|| "in progress".to_owned())
        }
        Class::Running if *who == Who::Result && tool == "launch" => {
            text.contains(&fact.to_string()).then(|| "running".to_owned())
        }
        _ => None,
    }
}

fn in_summary(text: &str, fact: Fact) -> Option<String> {
    let key = fact.to_string();
    let lines = || text.lines().filter(|line| line.contains(&key));
    match fact.class {
        Class::Command => lines().filter_map(exit_code).next_back(),
        Class::File => lines().filter_map(|line| written(line, fact)).next_back(),
        Class::Plan => lines().find_map(|line| {
            let (status, _) = line.split_once("- [")?.1.split_once(']')?;
            Some(status.to_owned())
        }),
        Class::Running => {
            let (_, behind) = text.split_once("Commands that still run:\n")?;
            let runs = behind.lines().take_while(|line| line.starts_with("- "));
            runs.into_iter().any(|line| line.contains(&key)).then(|| "running".to_owned())
        }
        _ => lines().filter_map(|line| stated(line, fact)).next_back(),
    }
}

/// A line of the list of files that were written.
fn written(line: &str, fact: Fact) -> Option<String> {
    let rest = line.strip_prefix("- ")?.strip_prefix(&fact.path())?;
    let (call, now) = rest.strip_prefix(" (last by call ")?.split_once(')')?;
    let now = if now.contains("still as written") { "same" } else { "changed" };
    Some(format!("{call} {now}"))
}

/// The last value that a text states.
fn stated(text: &str, fact: Fact) -> Option<String> {
    let head = format!("{} {fact} = ", fact.class.word());
    let (_, behind) = text.rsplit_once(&head)?;
    let value: String = behind.chars().take_while(char::is_ascii_alphanumeric).collect();
    // A value that was cut off is none.
    (value.len() == fact.value().len()).then_some(value)
}

fn exit_code(text: &str) -> Option<String> {
    let (_, behind) = text.rsplit_once("exit code ")?;
    let code: String = behind.chars().take_while(char::is_ascii_digit).collect();
    (!code.is_empty()).then_some(code)
}

fn is_summary(said: &Said) -> bool {
    said.who == Who::User && said.text.starts_with(SUMMARY_HEADING)
}

/// The next step to take: what was said of it last, or where the last message begins.
fn next(heard: &Heard) -> Option<usize> {
    let number = |text: &str, word: &str| {
        let (_, behind) = text.rsplit_once(word)?;
        let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<usize>().ok()
    };
    let talk = heard.talk.iter().filter(|said| !is_summary(said) && said.tool != RECALL);
    let mut found = None;
    for said in talk {
        match said.who {
            Who::User => found = number(&said.text, "WORK ").or(found),
            Who::Assistant | Who::Result => found = number(&said.text, "NEXT ").or(found),
            Who::Call => {}
        }
    }
    found
}

/// The step behind which the work is done.
fn last_step(heard: &Heard) -> usize {
    let said = heard.talk.iter().filter(|said| said.who == Who::User && !is_summary(said));
    let mut ends = said.filter_map(|said| {
        let (_, behind) = said.text.rsplit_once("WORK ")?;
        behind.split([' ', '.', '\n']).nth(1)?.parse::<usize>().ok()
    });
    ends.next_back().unwrap_or(0)
}

/// Goes on behind answers: in a turn that works, with the next step.
fn with_work(heard: &Heard, reply: Reply) -> Reply {
    let known = reply.answers.iter().filter(|answer| answer.value.is_some()).count();
    let text = format!("I answered {known} of {}.", reply.answers.len());
    let user = heard.talk.iter().rfind(|said| said.who == Who::User && !is_summary(said));
    let works = user.is_some_and(|said| said.text.contains("WORK "));
    let work = if works { go_on(heard) } else { Reply::default() };
    let text = if work.text.is_empty() { text } else { format!("{text}\n{}", work.text) };
    Reply { text, calls: work.calls, answers: reply.answers }
}

/// Takes the next step.
fn go_on(heard: &Heard) -> Reply {
    let step = next(heard).unwrap_or(1);
    if last_step(heard) < step {
        return Reply { text: format!("Done through {}.", step - 1), ..Reply::default() };
    }
    let mut reply = Reply::default();
    match act(step) {
        Act::Plant(fact) => plant(&mut reply, fact),
        Act::Correct(fact) if fact.class == Class::Corrected => {
            reply.text = format!("I was wrong: {}.", fact.stated());
        }
        Act::Correct(fact) => write(&mut reply, fact, "second"),
        Act::Page => {
            reply.calls.push((PAGE.into(), json!({ "url": format!("http://a.example/{step}") })));
        }
        Act::Meddle(_) | Act::Nothing => {}
    }
    reply.calls.push(("look".into(), json!({ "step": step })));
    reply
}

fn plant(reply: &mut Reply, fact: Fact) {
    let name = || json!({ "name": fact.to_string() });
    match fact.class {
        Class::Decision => {
            reply.text = format!("{}, because the other way is slower.", fact.stated());
        }
        Class::Corrected => reply.text = format!("I think that {}.", fact.stated_wrongly()),
        Class::Command => reply.calls.push(("run".into(), name())),
        Class::Error => reply.calls.push(("attempt".into(), name())),
        Class::Running => reply.calls.push(("launch".into(), name())),
        Class::File => write(reply, fact, "first"),
        Class::Plan => {
            let task = |step: String, status: &str| json!({ "step": step, "status": status });
            let plan = [
                task(format!("{fact} is measured"), "in_progress"),
                task("the rest".into(), "pending"),
            ];
            reply.calls.push(("update_plan".into(), json!({ "plan": plan })));
        }
        Class::Number | Class::Rule | Class::DeepRule | Class::Instruction => {}
    }
}

fn write(reply: &mut Reply, fact: Fact, version: &str) {
    let content = format!("{version} version of {fact}\n");
    reply.calls.push(("write_file".into(), json!({ "path": fact.path(), "content": content })));
}
