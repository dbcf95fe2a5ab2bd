//! What a person answers to a question, and the facts that it makes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::changing;
use crate::event::{
    Choice, ConfigChange, Event, Inquiry, InquiryAnswer, InquiryKind, PermissionRule, RuleEffect,
    Shape,
};
use crate::id::InquiryId;
use crate::permit::{Standing, always, decides, with};
use crate::question::Secret;
use crate::state::State;

/// In whose name a person answers.
const USER: &str = "user";
/// Why a question that a person took down has no answer.
const CANCELLED: &str = "the user took the question down";

/// What a person answers to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Reply {
    /// Run the call.
    Allow,
    /// Decide so on the call, and on what [`always_rules`] say from now on. A face that answers for
    /// more than this conversation keeps those rules where every conversation finds them.
    Always(Standing),
    /// Decide so on the call, and keep these rules: wider or narrower ones than [`always_rules`] say.
    /// All of one effect and one scope. Rules that would not decide on the call answer nothing.
    Keep(Vec<PermissionRule>),
    /// Run the call with another command line; for a tool without one, with other arguments, as JSON.
    /// What a rule forbids is not run all the same. The model is told.
    Change(String),
    /// Do not run the call.
    Deny,
    /// Do not run the call, for this reason. The model reads it.
    DenyBecause(String),
    /// Do not run the call: a person did by hand what it would do.
    Applied,
    /// Run a call in doubt again.
    RunAgain,
    /// Take a call in doubt for done.
    TreatAsDone,
    /// Look again whether the conversation that a call in doubt belongs to knows how it ended.
    LookAgain,
    /// Say what a call in doubt gave, or what a tool wanted to know.
    Text(String),
    /// Take a question of a tool down: whoever asks is told that nobody answers.
    Cancel,
    /// Tell a tool a secret that it wanted to know. Only that it was told is recorded.
    #[serde(skip)]
    Secret(Secret),
}

impl Reply {
    /// The secret that it tells.
    pub fn secret(&self) -> Option<Secret> {
        match self {
            Self::Secret(secret) => Some(secret.clone()),
            Self::Allow
            | Self::Always(_)
            | Self::Keep(_)
            | Self::Change(_)
            | Self::Applied
            | Self::Deny
            | Self::DenyBecause(_)
            | Self::RunAgain
            | Self::TreatAsDone
            | Self::LookAgain
            | Self::Text(_)
            | Self::Cancel => None,
        }
    }

    /// What it decides for later calls too, and where.
    pub fn standing(&self) -> Option<Standing> {
        match self {
            Self::Always(standing) => Some(*standing),
            Self::Keep(rules) => {
                rules.first().map(|rule| Standing { effect: rule.effect, scope: rule.scope })
            }
            Self::Allow
            | Self::Change(_)
            | Self::Deny
            | Self::DenyBecause(_)
            | Self::Applied
            | Self::RunAgain
            | Self::TreatAsDone
            | Self::LookAgain
            | Self::Text(_)
            | Self::Cancel
            | Self::Secret(_) => None,
        }
    }

    /// The answer as the journal has it: what becomes of this call, without what stands for later ones
    /// and without the words of a secret. `asked` is the call.
    fn recorded(&self, state: &State, asked: &Inquiry) -> Option<InquiryAnswer> {
        Some(match self {
            Self::Always(Standing { effect, .. }) => by_effect(*effect),
            Self::Keep(rules) => by_effect(rules.first()?.effect),
            Self::Allow => InquiryAnswer::Allow,
            Self::Change(text) => {
                let call = state.open_turn()?.call(asked.call)?;
                let tool = state.config.tool(&call.name)?;
                let arguments = changing::arguments(tool, &call.arguments, text).ok()?;
                InquiryAnswer::Changed { arguments }
            }
            Self::Deny => InquiryAnswer::DENY,
            Self::DenyBecause(reason) if reason.trim().is_empty() => InquiryAnswer::DENY,
            Self::DenyBecause(reason) => InquiryAnswer::Deny { reason: Some(reason.trim().into()) },
            Self::Applied => InquiryAnswer::Applied,
            Self::RunAgain => InquiryAnswer::RunAgain,
            Self::TreatAsDone => InquiryAnswer::TreatAsDone,
            Self::LookAgain => InquiryAnswer::LookAgain,
            Self::Text(text) => InquiryAnswer::Text { text: text.as_str().into() },
            Self::Cancel => InquiryAnswer::Cancelled { reason: CANCELLED.into() },
            Self::Secret(_) => InquiryAnswer::Redacted,
        })
    }

    /// The facts that the answer makes; none if the question is not open. `letter` is what brought it
    /// from another process.
    pub fn events(self, state: &State, inquiry: &InquiryId, letter: Option<&str>) -> Vec<Event> {
        let Some(turn) = state.open_turn() else { return Vec::new() };
        let Some(asked) = turn.pending_inquiries().find(|asked| asked.id == *inquiry) else {
            return Vec::new();
        };
        let Some(reply) = self.settling(asked) else { return Vec::new() };
        let rules = match (&reply, reply.standing()) {
            (Self::Keep(rules), _) if decide_on(state, asked, rules) => Some(rules.clone()),
            (Self::Keep(_), _) => return Vec::new(),
            (_, Some(standing)) => always_rules(state, asked, standing),
            (_, None) => None,
        };
        let Some(answer) = reply.recorded(state, asked) else { return Vec::new() };
        let by_rule = rules.is_some();
        let mut events = Vec::new();
        if let Some(rules) = rules {
            let permissions = Some(with(&state.config.permissions, &rules));
            let change = ConfigChange { permissions, ..ConfigChange::default() };
            events.push(Event::ConfigChanged { change });
        }
        let (inquiry, letter) = (inquiry.clone(), letter.map(ToOwned::to_owned));
        let by = USER.into();
        events.push(Event::InquiryAnswered { inquiry, answer, by, letter, by_rule });
        events
    }

    /// The answer, if it moves the question on. One that does not would close the question and leave
    /// its call waiting for ever.
    fn settling(self, asked: &Inquiry) -> Option<Self> {
        let wants = asked.wants.as_ref();
        let is_secret = wants.is_some_and(|wants| wants.shape == Shape::Secret);
        let is_elsewhere = asked.choices.contains(&Choice::LookAgain);
        match (asked.kind, self) {
            (_, Self::Deny) => Some(Self::Deny),
            (InquiryKind::Question, Self::Cancel) => Some(Self::Cancel),
            // Only what a secret question is told is kept out of the journal.
            (InquiryKind::Question, Self::Secret(secret)) => {
                is_secret.then_some(Self::Secret(secret))
            }
            (InquiryKind::Question, Self::Text(_)) if is_secret => None,
            (InquiryKind::Question, Self::Text(text)) => match wants {
                Some(wants) => wants.read(&text).ok().map(Self::Text),
                None => Some(Self::Text(text)),
            },
            // What another conversation has begun is looked for, and never begun here.
            (InquiryKind::InDoubt, Self::RunAgain | Self::Allow | Self::Always(_))
                if is_elsewhere =>
            {
                None
            }
            (InquiryKind::InDoubt, Self::LookAgain) if !is_elsewhere => None,
            (InquiryKind::Question, _)
            | (_, Self::Secret(_) | Self::Cancel)
            | (InquiryKind::Permission, Self::TreatAsDone | Self::LookAgain | Self::Text(_))
            | (
                InquiryKind::InDoubt,
                Self::Applied | Self::Keep(_) | Self::Change(_) | Self::DenyBecause(_),
            ) => None,
            (InquiryKind::Permission | InquiryKind::InDoubt, reply) => Some(reply),
        }
    }
}

fn by_effect(effect: RuleEffect) -> InquiryAnswer {
    match effect {
        RuleEffect::Allow => InquiryAnswer::Allow,
        RuleEffect::Ask | RuleEffect::Deny => InquiryAnswer::DENY,
    }
}

/// Whether rules would decide on the call that a question is about.
fn decide_on(state: &State, asked: &Inquiry, rules: &[PermissionRule]) -> bool {
    let call = state.open_turn().and_then(|turn| turn.call(asked.call));
    call.and_then(|call| Some((call, state.config.tool(&call.name)?))).is_some_and(
        |(call, tool)| {
            decides(&state.config.permissions, state.workspace(), tool, &call.arguments, rules)
        },
    )
}

/// The rules that a standing decision would make of a question; `None` if it would only be good for
/// one call.
pub fn always_rules(
    state: &State,
    asked: &Inquiry,
    standing: Standing,
) -> Option<Vec<PermissionRule>> {
    if asked.kind != InquiryKind::Permission {
        return None;
    }
    let call = state.open_turn()?.call(asked.call)?;
    let tool = state.config.tool(&call.name)?;
    always(&state.config.permissions, state.workspace(), tool, &call.arguments, standing)
}
