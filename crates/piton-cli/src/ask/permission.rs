//! Permission for a call: for this one, or for others like it, here or everywhere.

use std::path::{Path, PathBuf};

use piton::{Reply, Standing};
use piton_agent::rules::file::{self, RuleFileError};
use piton_core::view::{Always, PermissionRule, QuestionView, RuleEffect, RuleScope};

use super::heard::{Heard, type_one_of};
use crate::render::rule::told_all;

/// A standing decision that can be made on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) standing: Standing,
    /// The rules that it makes.
    pub(crate) rules: Vec<PermissionRule>,
    /// Where the call works.
    pub(crate) workspace: PathBuf,
    /// The settings that the rules are written to; none if the journal keeps them.
    pub(crate) file: Option<PathBuf>,
}

impl Offer {
    /// All that are possible: the rules decide on the call, and there is a place to keep them.
    /// `workspace` is where the call works.
    pub(crate) fn all(asked: &QuestionView, workspace: &str, file: Option<&Path>) -> Vec<Self> {
        let offer = |Always { effect, scope, rules, .. }: &Always| {
            let file = match scope {
                RuleScope::Conversation => None,
                RuleScope::Project | RuleScope::User => Some(file?.to_owned()),
            };
            let standing = Standing { effect: *effect, scope: *scope };
            Some(Self { standing, rules: rules.clone(), workspace: workspace.into(), file })
        };
        asked.always.iter().filter_map(offer).collect()
    }

    /// What can be decided on the call of a worker: for the worker's own conversation.
    pub(crate) fn of_worker(asked: &QuestionView, workspace: &str) -> Vec<Self> {
        let mut offers = Self::all(asked, workspace, None);
        offers.retain(|offer| offer.standing.effect == RuleEffect::Allow);
        offers
    }

    /// The rules and how far they reach, for people.
    pub(crate) fn told(&self) -> String {
        format!("{}, {}", told_all(&self.rules), self.reach())
    }

    /// Writes the rules of decisions that are for later conversations too into the settings: all of
    /// them or none.
    pub(crate) fn write_all<'a>(
        offers: impl IntoIterator<Item = &'a Self>,
    ) -> Result<(), RuleFileError> {
        let mut files: Vec<(&Path, Vec<_>)> = Vec::new();
        for offer in offers {
            let Some(file) = offer.file.as_deref() else { continue };
            let rules = offer.rules.iter().map(|rule| (rule, offer.workspace.as_path()));
            match files.iter_mut().find(|(other, _)| *other == file) {
                Some((_, all)) => all.extend(rules),
                None => files.push((file, rules.collect())),
            }
        }
        // There is one settings file.
        files.iter().try_for_each(|(file, rules)| file::add(file, rules))
    }

    fn reach(&self) -> String {
        let place = match self.standing.scope {
            RuleScope::Conversation => "in this conversation".to_owned(),
            RuleScope::Project => format!("in the project {}", self.workspace.display()),
            RuleScope::User => "everywhere".to_owned(),
        };
        match &self.file {
            Some(file) => format!("{place}, in {}", file.display()),
            None => place,
        }
    }
}

/// A question for permission: first whether, then how far it reaches.
#[derive(Clone, Debug, Default)]
pub(super) struct Permission {
    pub(super) offers: Vec<Offer>,
    /// Decided for good, but not yet where.
    pub(super) choosing: Option<RuleEffect>,
}

impl Permission {
    pub(super) fn new(offers: Vec<Offer>) -> Self {
        Self { offers, choosing: None }
    }

    fn with_effect(&self, effect: RuleEffect) -> impl Iterator<Item = &Offer> {
        self.offers.iter().filter(move |offer| offer.standing.effect == effect)
    }

    fn may(&self, effect: RuleEffect) -> bool {
        self.with_effect(effect).next().is_some()
    }

    /// What to show in front of the cursor.
    pub(super) fn text(&self, question: &str) -> String {
        if let Some(effect) = self.choosing {
            let rules = self.with_effect(effect).next().map(|offer| told_all(&offer.rules));
            let place = |offer: &Offer| {
                let will = if offer.file.is_some() { "will write: " } else { "" };
                format!("  ({}) {will}{}\n", key(offer.standing.scope), offer.reach())
            };
            let places: String = self.with_effect(effect).map(place).collect();
            return format!("{}\n{places}  (b) back: ", rules.unwrap_or_default());
        }
        // Below the lines that say all about the call.
        let end = if question.contains('\n') { '\n' } else { ' ' };
        format!("{question}{end}{}", self.choices())
    }

    /// What can be answered.
    pub(super) fn choices(&self) -> String {
        let always = if self.may(RuleEffect::Allow) { ", (a) always" } else { "" };
        let never = if self.may(RuleEffect::Deny) { ", (v) never" } else { "" };
        format!("(y) yes{always}{never}, (m) done by hand, (n) no: ")
    }

    /// Takes in a typed line, in small letters.
    pub(super) fn hear(&mut self, line: &str) -> Heard {
        let mut words = line.split_whitespace();
        let (first, place, more) = (words.next().unwrap_or_default(), words.next(), words.next());
        if more.is_some() {
            return self.unclear();
        }
        if let (Some(effect), None) = (self.choosing, place) {
            return self.hear_place(effect, first);
        }
        let effect = match (first, place) {
            ("y" | "yes", None) => return Heard::Reply(Reply::Allow),
            ("n" | "no", None) => return Heard::Reply(Reply::Deny),
            ("m" | "applied", None) => return Heard::Reply(Reply::Applied),
            ("a" | "always", _) => RuleEffect::Allow,
            ("v" | "never", _) => RuleEffect::Deny,
            _ => return self.unclear(),
        };
        if !self.may(effect) {
            let effect = if effect == RuleEffect::Allow { "always" } else { "never" };
            return Heard::Unclear(format!(
                "no rule can say {effect} of this call; {}",
                self.keys()
            ));
        }
        match place {
            Some(place) => self.hear_place(effect, place),
            None if 1 < self.with_effect(effect).count() => {
                self.choosing = Some(effect);
                Heard::Ask
            }
            None => match self.with_effect(effect).next() {
                Some(offer) => Heard::Reply(Reply::Always(offer.standing)),
                None => self.unclear(),
            },
        }
    }

    fn hear_place(&mut self, effect: RuleEffect, word: &str) -> Heard {
        let scope = match word {
            "c" | "conversation" => RuleScope::Conversation,
            "p" | "project" => RuleScope::Project,
            "u" | "user" => RuleScope::User,
            "b" | "back" => {
                self.choosing = None;
                return Heard::Ask;
            }
            _ => return self.unclear(),
        };
        let standing = Standing { effect, scope };
        if self.offers.iter().any(|offer| offer.standing == standing) {
            return Heard::Reply(Reply::Always(standing));
        }
        self.unclear()
    }

    fn unclear(&self) -> Heard {
        Heard::Unclear(self.keys())
    }

    /// What can be typed now.
    fn keys(&self) -> String {
        let keys: Vec<char> = if let Some(effect) = self.choosing {
            let places = self.with_effect(effect).map(|offer| key(offer.standing.scope));
            places.chain(['b']).collect()
        } else {
            let always = self.may(RuleEffect::Allow).then_some('a');
            let never = self.may(RuleEffect::Deny).then_some('v');
            ['y'].into_iter().chain(always).chain(never).chain(['m', 'n']).collect()
        };
        type_one_of(&keys)
    }
}

fn key(scope: RuleScope) -> char {
    match scope {
        RuleScope::Conversation => 'c',
        RuleScope::Project => 'p',
        RuleScope::User => 'u',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers(effects: &[RuleEffect], scopes: &[RuleScope]) -> Vec<Offer> {
        let rules = |effect| vec![PermissionRule::of_tool("pay", effect)];
        let offer = |effect: &RuleEffect, scope: &RuleScope| Offer {
            standing: Standing { effect: *effect, scope: *scope },
            rules: rules(*effect),
            workspace: "/w".into(),
            file: (*scope != RuleScope::Conversation).then(|| "/c/piton.toml".into()),
        };
        effects.iter().flat_map(|effect| scopes.iter().map(move |it| offer(effect, it))).collect()
    }

    const EFFECTS: [RuleEffect; 2] = [RuleEffect::Allow, RuleEffect::Deny];
    const SCOPES: [RuleScope; 3] = [RuleScope::Conversation, RuleScope::Project, RuleScope::User];

    fn check(offers: Vec<Offer>, lines: &[&str], expected: Option<Reply>) {
        let mut permission = Permission::new(offers);
        let heard = lines.iter().find_map(|line| permission.hear(line).reply());
        assert_eq!(heard, expected, "{lines:?}");
    }

    fn always(effect: RuleEffect, scope: RuleScope) -> Reply {
        Reply::Always(Standing { effect, scope })
    }

    // D44
    #[test]
    fn a_standing_decision_names_its_scope() {
        use RuleEffect::{Allow, Deny};
        let all = || offers(&EFFECTS, &SCOPES);
        check(all(), &["a", "c"], Some(always(Allow, RuleScope::Conversation)));
        check(all(), &["a", "x", "p"], Some(always(Allow, RuleScope::Project)));
        check(all(), &["always user"], Some(always(Allow, RuleScope::User)));
        check(all(), &["v", "u"], Some(always(Deny, RuleScope::User)));
        check(all(), &["v", "b", "y"], Some(Reply::Allow));
        check(all(), &["M"], None);
        check(all(), &["m"], Some(Reply::Applied));
        check(all(), &["a", "y", "n"], None);
        check(all(), &["a p u", "yes project", "project", ""], None);
    }

    // D44: what is not possible is neither shown nor heard.
    #[test]
    fn only_what_is_possible_is_offered() {
        let here = || offers(&[RuleEffect::Allow], &[RuleScope::Conversation]);
        check(here(), &["a"], Some(always(RuleEffect::Allow, RuleScope::Conversation)));
        check(here(), &["a p", "v", "never conversation"], None);
        check(Vec::new(), &["a", "always conversation"], None);
        assert_eq!(
            Permission::new(Vec::new()).text("Run?"),
            "Run? (y) yes, (m) done by hand, (n) no: "
        );
        assert_eq!(
            Permission::new(here()).text("Run?"),
            "Run? (y) yes, (a) always, (m) done by hand, (n) no: "
        );
    }

    #[test]
    fn what_is_not_understood_is_told_what_would_be() {
        let unclear = |lines: &[&str], offers| {
            let mut permission = Permission::new(offers);
            let mut heard = Heard::Ask;
            for line in lines {
                heard = permission.hear(line);
            }
            let Heard::Unclear(told) = heard else { panic!("{lines:?}: {heard:?}") };
            told
        };
        let all = || offers(&EFFECTS, &SCOPES);
        assert_eq!(unclear(&["perhaps"], all()), "type y, a, v, m or n");
        assert_eq!(unclear(&[""], Vec::new()), "type y, m or n");
        assert_eq!(unclear(&["a", "y"], all()), "type c, p, u or b");
        assert_eq!(unclear(&["a x"], all()), "type y, a, v, m or n");
        let here = offers(&[RuleEffect::Allow], &[RuleScope::Conversation]);
        assert_eq!(unclear(&["v"], here), "no rule can say never of this call; type y, a, m or n");
    }

    #[test]
    fn rule_and_place_are_said_before_they_are_chosen() {
        let mut permission = Permission::new(offers(&EFFECTS, &SCOPES));
        assert_eq!(
            permission.text("Run?"),
            "Run? (y) yes, (a) always, (v) never, (m) done by hand, (n) no: "
        );
        assert_eq!(permission.hear("v"), Heard::Ask);
        assert_eq!(
            permission.text("Run?"),
            "deny pay\n  (c) in this conversation\n  \
             (p) will write: in the project /w, in /c/piton.toml\n  \
             (u) will write: everywhere, in /c/piton.toml\n  (b) back: "
        );
    }
}
