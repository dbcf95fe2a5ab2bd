//! Who sums up, well and badly: functions of the bytes of the request.

use std::collections::BTreeMap;

use piton::model::{Delta, FailureClass, FinishReason, ModelFailure, Usage};

use super::facts::{Class, Fact, hash};
use super::heard::Heard;

/// What the model thinks before it writes, if it thinks, in tokens.
const THOUGHT_TOKENS: u64 = 2_000;
/// Of a hundred facts, how many a lossy summary forgets.
const LOST_PERCENT: u64 = 20;
/// A line that wants something of who sums up.
const ORDER: &str = "SUMMARY RULE: ";

/// How it sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Summariser {
    /// Everything that it reads.
    Perfect,
    /// All but a fifth.
    Lossy,
    /// Nobody does: the provider does not let it.
    None,
    /// With nothing.
    Empty,
    /// With more than it was asked for.
    Longer,
    /// With a call.
    Calls,
    /// Half of it, then the output limit comes.
    Cut,
    /// It does what stands in the request, outside of what is said to be data.
    Obeys,
    /// It thinks first, and that counts.
    Thinks,
    /// The provider fails.
    Fails,
    /// The provider finds every such request too large.
    Overflows,
}

impl Summariser {
    pub(crate) const ALL: [Self; 11] = [
        Self::None,
        Self::Perfect,
        Self::Lossy,
        Self::Empty,
        Self::Longer,
        Self::Calls,
        Self::Cut,
        Self::Obeys,
        Self::Thinks,
        Self::Fails,
        Self::Overflows,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Perfect => "perfect",
            Self::Lossy => "lossy",
            Self::None => "none",
            Self::Empty => "empty",
            Self::Longer => "longer",
            Self::Calls => "calls",
            Self::Cut => "cut",
            Self::Obeys => "obeys",
            Self::Thinks => "thinks",
            Self::Fails => "500",
            Self::Overflows => "overflow",
        }
    }

    /// The answer to a request for a summary.
    pub(crate) fn reply(self, heard: &Heard, tokens: u64) -> Result<Vec<Delta>, ModelFailure> {
        let asked: String = heard.talk.iter().map(|said| said.text.as_str()).collect();
        let (outside, history) = fenced(&asked);
        let fail = |class, why: &str| Err(ModelFailure::new(class, why));
        let good = || written(&facts(&history), &[]);
        let said = |text: String| Ok(pieces(&text, FinishReason::Stop, tokens));
        match self {
            Self::Perfect => said(good()),
            Self::Lossy => {
                let is_kept = |fact: &Fact| LOST_PERCENT <= hash(&format!("{fact} fades")) % 100;
                let facts = facts(&history).into_iter().filter(|(fact, _)| is_kept(fact));
                said(written(&facts.collect(), &[]))
            }
            Self::None => fail(FailureClass::Auth, "nobody sums up here"),
            Self::Empty => said(String::new()),
            Self::Longer => said(format!("{}\n{}", good(), "and so on, ".repeat(4_000))),
            Self::Calls => {
                let mut pieces = pieces(&good(), FinishReason::ToolCalls, tokens);
                let (index, name) = (1, "look".to_owned());
                let opened = Delta::CallOpened { index, provider_id: None, name };
                let arguments = Delta::CallArguments { index, json: "{}".into() };
                pieces.splice(1..1, [opened, arguments, Delta::Closed { index }]);
                Ok(pieces)
            }
            Self::Cut => {
                let text = good();
                let half = text.chars().take(text.chars().count() / 2).collect::<String>();
                Ok(pieces(&half, FinishReason::Length, tokens))
            }
            Self::Obeys => {
                let orders = outside.lines().filter_map(|line| line.strip_prefix(ORDER));
                said(written(&facts(&history), &orders.collect::<Vec<_>>()))
            }
            Self::Thinks => {
                let text = good();
                let wanted = THOUGHT_TOKENS + u64::try_from(text.len() / 4).unwrap();
                let is_room = heard.answer_tokens_max.is_none_or(|most| wanted <= most);
                if is_room { said(text) } else { Ok(pieces("", FinishReason::Length, tokens)) }
            }
            Self::Fails => fail(FailureClass::Server, "500"),
            Self::Overflows => fail(FailureClass::ContextOverflow, "prompt is too long"),
        }
    }
}

/// What stands outside of the fence, and inside.
fn fenced(asked: &str) -> (String, String) {
    let is_fence = |line: &&str| 3 <= line.len() && line.chars().all(|letter| letter == '`');
    let fence = asked.lines().filter(is_fence).max_by_key(|line| line.len());
    let Some(fence) = fence else { return (asked.to_owned(), asked.to_owned()) };
    let (mut outside, mut inside, mut is_inside) = (String::new(), String::new(), false);
    for line in asked.lines() {
        if line == fence {
            is_inside = !is_inside;
            continue;
        }
        let place = if is_inside { &mut inside } else { &mut outside };
        *place += line;
        place.push('\n');
    }
    (outside, inside)
}

/// Whose words a line of the history is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Voice {
    User,
    Model,
    Tool,
    Stranger,
    Nobody,
}

/// The facts of a history, each as it is stated last. Strangers state none.
fn facts(history: &str) -> BTreeMap<Fact, String> {
    let mut found = BTreeMap::new();
    let mut tools: BTreeMap<&str, &str> = BTreeMap::new();
    let mut voice = Voice::Nobody;
    for line in history.lines() {
        let begins = line.split_once("] ").filter(|(place, _)| place.starts_with("[turn "));
        if let Some((_, said)) = begins {
            let words: Vec<&str> = said.split(' ').collect();
            voice = match words.as_slice() {
                ["user" | "user:", ..] => Voice::User,
                ["model:", ..] => Voice::Model,
                ["call", id, tool, ..] => {
                    tools.insert(id, tool.trim_end_matches(':'));
                    Voice::Nobody
                }
                ["result", "of", id, ..] if tools.get(id) == Some(&"web_fetch") => Voice::Stranger,
                ["result", "of", id, ..] => {
                    found.extend(command(said, tools.get(id).copied()));
                    Voice::Tool
                }
                _ => Voice::Nobody,
            };
        }
        // What is looked up says so of each line that a stranger wrote.
        if line.contains("(foreign text)") {
            continue;
        }
        found.extend(stated(line).into_iter().filter(|(fact, _)| is_heard(voice, fact.class)));
    }
    found
}

fn is_heard(voice: Voice, class: Class) -> bool {
    match voice {
        Voice::User => matches!(class, Class::Rule | Class::DeepRule),
        Voice::Model => matches!(class, Class::Decision | Class::Corrected),
        Voice::Tool => matches!(class, Class::Number | Class::Error),
        Voice::Stranger | Voice::Nobody => false,
    }
}

/// `result of 1.10.0 (ok, exit code 3): ran c_0010`.
fn command(said: &str, tool: Option<&str>) -> Option<(Fact, String)> {
    let (_, behind) = said.split_once("exit code ").filter(|_| tool == Some("run"))?;
    let code: String = behind.chars().take_while(char::is_ascii_digit).collect();
    let (_, key) = said.split_once("ran ")?;
    Some((Fact::of_key(key.get(..6)?)?, code))
}

/// All facts that a line states.
fn stated(line: &str) -> Vec<(Fact, String)> {
    let words: Vec<&str> = line.split(' ').collect();
    let fact = |words: &[&str]| {
        let [word, key, "=", value] = words else { return None };
        let fact = Fact::of_key(key).filter(|fact| word.ends_with(fact.class.word()))?;
        let value: String = value.chars().take_while(char::is_ascii_alphanumeric).collect();
        (value.len() == fact.value().len()).then_some((fact, value))
    };
    words.windows(4).filter_map(fact).collect()
}

fn written(facts: &BTreeMap<Fact, String>, orders: &[&str]) -> String {
    let of = |classes: &[Class]| -> String {
        let facts = facts.iter().filter(|(fact, _)| classes.contains(&fact.class));
        let line = |(fact, value): (&Fact, &String)| match fact.class {
            Class::Command => format!("{fact} exit code {value}\n"),
            class => format!("{} {fact} = {value}\n", class.word()),
        };
        facts.map(line).collect()
    };
    let orders: String = orders.iter().map(|order| format!("{order}\n")).collect();
    let rules = of(&[Class::Rule, Class::DeepRule]) + &orders;
    format!(
        "## 1 Goal\nThe steps are taken.\n## 2 Rules and wishes of the user\n{rules}\
         ## 3 Decisions and why\n{}## 4 Facts found\n{}## 5 Tried and failed\n{}\
         ## 6 State of the work\nSteps were taken.\n## 7 Next step\nGo on.\n## 8 Unsure\n-\n",
        of(&[Class::Decision]),
        of(&[Class::Number, Class::Command, Class::Corrected]),
        of(&[Class::Error]),
    )
}

fn pieces(text: &str, finish: FinishReason, tokens: u64) -> Vec<Delta> {
    let usage = Usage { input: tokens, output: 40, cached: 0 };
    let text = Some(text.to_owned()).filter(|text| !text.is_empty());
    let said = text.map(|text| Delta::Text { index: 0, text });
    said.into_iter().chain([Delta::End { finish, usage }]).collect()
}
