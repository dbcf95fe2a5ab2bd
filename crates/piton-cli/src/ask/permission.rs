//! Permission for a call: for this one, or for others like it, here or everywhere; or for another one
//! that a person makes of it.

use piton::{Reply, Standing};
use piton_core::permit::fault;
use piton_core::view::{PermissionRule, QuestionView, RuleEffect, RuleScope, Width};
use serde_json::{Map, Value};

use super::content::Content;
use super::heard::{Heard, type_one_of};
use super::keys::{self, Key, Menu};
use super::offer::Offer;
use crate::render::rule::told_all;

/// A question for permission: first whether, then which rule, and how far it reaches.
#[derive(Clone, Debug, Default)]
pub(super) struct Permission {
    pub(super) offers: Vec<Offer>,
    /// What can be changed of the call.
    changeable: Option<String>,
    /// What of it is changed in an editor.
    pub(super) content: Option<Content>,
    /// Why no rule can allow calls like it.
    no_rule: Option<String>,
    /// Decided for good, but not yet where.
    choosing: Option<Choosing>,
    /// Whether the next line is a text to run, or a rule.
    editing: Option<Editing>,
}

/// A decision for good.
#[derive(Clone, Debug)]
struct Choosing {
    effect: RuleEffect,
    /// The rules that it makes, wherever they are kept.
    rules: Vec<PermissionRule>,
}

/// A text that is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Editing {
    /// What the call does.
    Call,
    /// The rule at this place.
    Rule(usize),
}

impl Permission {
    pub(super) fn new(offers: Vec<Offer>, asked: &QuestionView) -> Self {
        let (changeable, no_rule) = (asked.changeable.clone(), asked.no_rule.clone());
        Self { offers, changeable, content: Content::of(asked), no_rule, ..Self::default() }
    }

    /// Whether the next line is no answer to the question itself.
    pub(super) fn is_choosing(&self) -> bool {
        self.choosing.is_some() || self.editing.is_some()
    }

    /// Back to the question itself; says whether a rule was being chosen or a text typed.
    pub(super) fn go_back(&mut self) -> bool {
        let was_choosing = self.is_choosing();
        (self.choosing, self.editing) = (None, None);
        was_choosing
    }

    /// The text that is to be changed now.
    pub(super) fn edited(&self) -> Option<String> {
        match self.editing? {
            Editing::Call => self.changeable.clone(),
            Editing::Rule(place) => {
                let rule = self.choosing.as_ref()?.rules.get(place)?;
                rule.command.as_ref().or(rule.path.as_ref()).cloned()
            }
        }
    }

    /// What a reply makes stand, if it does.
    pub(super) fn offered(&self, reply: &Reply) -> Option<Offer> {
        let wanted = reply.standing()?;
        let offer = self.offers.iter().find(|offer| offer.standing == wanted).cloned()?;
        let rules = if let Reply::Keep(rules) = reply { rules.clone() } else { offer.rules };
        Some(Offer { rules, ..offer })
    }

    /// The standing decision of a width, if there is one.
    pub(super) fn as_wide(&self, standing: Standing, width: Width) -> Option<Reply> {
        let mut offers = self.offers.iter().filter(|offer| offer.standing == standing);
        offers.find(|offer| offer.width == width).map(|offer| Reply::Keep(offer.rules.clone()))
    }

    fn with_effect(&self, effect: RuleEffect) -> impl Iterator<Item = &Offer> {
        self.offers.iter().filter(move |offer| offer.standing.effect == effect)
    }

    fn may(&self, effect: RuleEffect) -> bool {
        self.with_effect(effect).next().is_some()
    }

    /// Offers that differ in their rules, from the usual one on.
    fn widths(&self, effect: RuleEffect) -> Vec<&Offer> {
        let scope = self.with_effect(effect).next().map(|offer| offer.standing.scope);
        self.with_effect(effect).filter(|offer| Some(offer.standing.scope) == scope).collect()
    }

    /// Offers that differ in their reach.
    fn places(&self, effect: RuleEffect) -> Vec<&Offer> {
        let mut places: Vec<&Offer> = Vec::new();
        for offer in self.with_effect(effect) {
            if !places.iter().any(|other| other.standing == offer.standing) {
                places.push(offer);
            }
        }
        places
    }

    /// The rules that say exactly what the call does, as far as a rule can be changed.
    fn exact(&self, effect: RuleEffect) -> Option<&[PermissionRule]> {
        let widths = self.widths(effect);
        let exact = widths.iter().find(|offer| offer.width == Width::Exactly)?;
        let is_wider = |rule: &PermissionRule| rule.command.is_some() || rule.path.is_some();
        exact.rules.iter().all(is_wider).then_some(&exact.rules)
    }

    /// What to show in front of the cursor.
    pub(super) fn text(&self, question: &str) -> String {
        match (self.editing, &self.choosing) {
            (Some(_), _) => {
                let old = self.edited().unwrap_or_default();
                format!("now: {old}\n{}", self.label())
            }
            (None, Some(choosing)) => self.choosing_text(choosing),
            (None, None) => {
                // Below the lines that say all about the call.
                let end = if question.contains('\n') { '\n' } else { ' ' };
                format!("{question}{end}{}", self.choices())
            }
        }
    }

    /// What stands in front of a text that is typed.
    pub(super) fn label(&self) -> &'static str {
        match self.editing {
            Some(Editing::Rule(_)) => "the rule (empty: back): ",
            Some(Editing::Call) | None => "run instead (empty: back): ",
        }
    }

    fn choosing_text(&self, Choosing { effect, rules }: &Choosing) -> String {
        let widths = self.widths(*effect);
        let width = |(place, offer): (usize, &&Offer)| {
            let told = told_all(&offer.rules);
            let chosen = if same_rules(&offer.rules, rules) { " (chosen)" } else { "" };
            format!("  ({}) {}: {told}{chosen}\n", place + 1, name(offer.width))
        };
        let listed = widths.iter().enumerate().map(width);
        let listed: String = listed.filter(|_| 1 < widths.len()).collect();
        let place = |offer: &&Offer| {
            let will = if offer.file.is_some() { "will write: " } else { "" };
            format!("  ({}) {will}{}\n", key(offer.standing.scope).letter, offer.reach())
        };
        let places: String = self.places(*effect).iter().map(place).collect();
        let edit = if self.exact(*effect).is_some() { "(e) edit the rule, " } else { "" };
        format!("{}\n{listed}{places}  {edit}(b) back: ", told_all(rules))
    }

    /// What can be answered.
    pub(super) fn choices(&self) -> String {
        self.menu().line()
    }

    fn menu(&self) -> Menu {
        let mut entries = vec![(keys::YES, "yes", "it runs, this once")];
        if self.may(RuleEffect::Allow) {
            let more = "it runs, and later calls like it; the rule is shown first";
            entries.push((keys::ALWAYS, "always", more));
        }
        if self.may(RuleEffect::Deny) {
            let more = "neither this call nor later ones like it; the rule is shown first";
            entries.push((keys::NEVER, "never", more));
        }
        if self.content.is_some() {
            let more = "you change what is written, in your editor, and the model is told";
            entries.push((keys::EDIT, "edit", more));
        } else if self.changeable.is_some() {
            let more = "you change what runs, and the model is told; `e TEXT` runs TEXT instead";
            entries.push((keys::EDIT, "edit", more));
        }
        entries.extend([
            (keys::DONE, "done by hand", "you did it yourself; it is not run"),
            (keys::NO, "no", "it does not run; `n WHY` tells the model why"),
            (keys::QUIT, "", "leave the question open, and the turn where it is"),
        ]);
        Menu::of(&entries)
    }

    /// Takes in a typed line.
    pub(super) fn hear(&mut self, line: &str) -> Heard {
        match (self.editing, &self.choosing) {
            (Some(Editing::Call), _) => self.hear_call(line),
            (Some(Editing::Rule(place)), _) => self.hear_rule(place, line),
            (None, Some(choosing)) => {
                let choosing = choosing.clone();
                self.hear_place(choosing, &line.trim().to_lowercase())
            }
            (None, None) => self.hear_answer(line.trim()),
        }
    }

    fn hear_answer(&mut self, line: &str) -> Heard {
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (first, rest, menu) = (first.to_lowercase(), rest.trim(), self.menu());
        if line == "?" {
            return Heard::Told(menu.explained());
        }
        let found = if first == "applied" { Some(keys::DONE) } else { menu.find(&first) };
        match (found, rest) {
            (Some(keys::YES), "") => Heard::Reply(Reply::Allow),
            (Some(keys::NO), "") => Heard::Reply(Reply::Deny),
            (Some(keys::NO), why) => Heard::Reply(Reply::DenyBecause(why.to_owned())),
            (Some(keys::DONE), "") => Heard::Reply(Reply::Applied),
            (Some(keys::QUIT), "") => Heard::Leave,
            (Some(keys::EDIT), "") if self.content.is_some() => Heard::Write,
            (Some(keys::EDIT), "") => {
                self.editing = Some(Editing::Call);
                Heard::Ask
            }
            (Some(keys::EDIT), text) => self.hear_call(text),
            (Some(keys::ALWAYS), place) => self.stand(RuleEffect::Allow, place),
            (Some(keys::NEVER), place) => self.stand(RuleEffect::Deny, place),
            _ => {
                let why = self.no_rule.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                let missing = match first.as_str() {
                    "a" | "always" => format!("no rule can say always of this call{why}; "),
                    "v" | "never" => "no rule can say never of this call; ".to_owned(),
                    _ => String::new(),
                };
                Heard::Unclear(format!("{missing}{}", menu.takes()))
            }
        }
    }

    /// A decision for good, with how far it reaches if that is said.
    fn stand(&mut self, effect: RuleEffect, place: &str) -> Heard {
        let Some(usual) = self.with_effect(effect).next() else {
            return Heard::Unclear(self.menu().takes());
        };
        let (standing, rules) = (usual.standing, usual.rules.clone());
        let choosing = Choosing { effect, rules };
        match place {
            "" if 1 < self.with_effect(effect).count() => {
                self.choosing = Some(choosing);
                Heard::Ask
            }
            "" => Heard::Reply(Reply::Always(standing)),
            place => match scope_of(&place.to_lowercase()) {
                Some(scope) => self.kept(&choosing, scope),
                None => Heard::Unclear(self.menu().takes()),
            },
        }
    }

    fn hear_place(&mut self, choosing: Choosing, word: &str) -> Heard {
        let effect = choosing.effect;
        let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let chosen = number.and_then(|place| self.widths(effect).get(place).copied().cloned());
        if let Some(offer) = chosen {
            self.choosing = Some(Choosing { effect, rules: offer.rules });
            return Heard::Ask;
        }
        match (scope_of(word), word) {
            (Some(scope), _) => self.kept(&choosing, scope),
            (None, "e" | "edit") if self.exact(effect).is_some() => {
                self.begin_rules(choosing);
                Heard::Ask
            }
            (None, "b" | "back") => {
                self.choosing = None;
                Heard::Ask
            }
            (None, _) => Heard::Unclear(self.takes(&choosing)),
        }
    }

    /// The decision with its reach; rules that differ from the usual ones are named.
    fn kept(&self, choosing: &Choosing, scope: RuleScope) -> Heard {
        let standing = Standing { effect: choosing.effect, scope };
        let Some(usual) = self.offers.iter().find(|offer| offer.standing == standing) else {
            return Heard::Unclear(self.takes(choosing));
        };
        if same_rules(&usual.rules, &choosing.rules) {
            return Heard::Reply(Reply::Always(standing));
        }
        let rules = choosing.rules.iter().map(|rule| PermissionRule { scope, ..rule.clone() });
        Heard::Reply(Reply::Keep(rules.collect()))
    }

    /// A rule is changed from the chosen one on, or from the one that says exactly what the call does.
    fn begin_rules(&mut self, Choosing { effect, rules }: Choosing) {
        let exact = self.exact(effect).unwrap_or_default();
        let can_change = |rule: &PermissionRule| rule.command.is_some() || rule.path.is_some();
        let fits = rules.len() == exact.len() && rules.iter().all(can_change);
        let rules = if fits { rules } else { exact.to_vec() };
        self.choosing = Some(Choosing { effect, rules });
        self.editing = Some(Editing::Rule(0));
    }

    fn hear_rule(&mut self, place: usize, line: &str) -> Heard {
        let text = line.trim();
        let Some(mut choosing) = self.choosing.clone() else { return Heard::Ask };
        if text.is_empty() {
            self.editing = None;
            return Heard::Ask;
        }
        let exact = self.exact(choosing.effect).and_then(|exact| exact.get(place)).cloned();
        if let (Some(rule), Some(exact)) = (choosing.rules.get_mut(place), exact) {
            let mut wider = rule.clone();
            let changed = if rule.command.is_some() { &mut wider.command } else { &mut wider.path };
            *changed = Some(text.to_owned());
            if let Some(fault) = fault::of_wider(&wider, &exact) {
                return Heard::Unclear(fault);
            }
            *rule = wider;
        }
        let next = place + 1;
        self.editing = (next < choosing.rules.len()).then_some(Editing::Rule(next));
        self.choosing = Some(choosing);
        Heard::Ask
    }

    /// A text that is to run instead. One that says nothing leads back.
    fn hear_call(&mut self, text: &str) -> Heard {
        self.editing = None;
        let is_json = |text: &str| serde_json::from_str::<Map<String, Value>>(text).is_ok();
        match &self.changeable {
            _ if text.trim().is_empty() => Heard::Ask,
            Some(old) if old == text => Heard::Reply(Reply::Allow),
            Some(old) if is_json(old) && !is_json(text) => {
                Heard::Unclear("the arguments of this call are a JSON object".into())
            }
            Some(_) => Heard::Reply(Reply::Change(text.to_owned())),
            None => Heard::Unclear(self.menu().takes()),
        }
    }

    /// What can be typed while a rule is chosen.
    fn takes(&self, choosing: &Choosing) -> String {
        let places = self.places(choosing.effect);
        let places = places.iter().map(|offer| key(offer.standing.scope).letter);
        let edit = self.exact(choosing.effect).map(|_| keys::EDIT.letter);
        type_one_of(&places.chain(edit).chain([keys::BACK.letter]).collect::<Vec<_>>())
    }
}

/// Whether rules are the same, wherever they are kept.
fn same_rules(one: &[PermissionRule], other: &[PermissionRule]) -> bool {
    let same = |(one, other): (&PermissionRule, &PermissionRule)| {
        PermissionRule { scope: other.scope, ..one.clone() } == *other
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}

fn scope_of(word: &str) -> Option<RuleScope> {
    match word {
        "c" | "conversation" => Some(RuleScope::Conversation),
        "p" | "project" => Some(RuleScope::Project),
        "u" | "user" => Some(RuleScope::User),
        _ => None,
    }
}

fn name(width: Width) -> &'static str {
    match width {
        Width::Exactly => "exactly this",
        Width::FirstWords => "its first words",
        Width::Program => "its program",
        Width::Unconfined => "its first words, outside the sandbox",
        Width::Directory => "this directory",
        Width::Tool | _ => "wide: every call",
    }
}

fn key(scope: RuleScope) -> Key {
    match scope {
        RuleScope::Conversation => keys::CONVERSATION,
        RuleScope::Project => keys::PROJECT,
        RuleScope::User => keys::USER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers(effects: &[RuleEffect], scopes: &[RuleScope]) -> Vec<Offer> {
        let rules = |effect| vec![PermissionRule::of_tool("pay", effect)];
        let offer = |effect: &RuleEffect, scope: &RuleScope| Offer {
            standing: Standing { effect: *effect, scope: *scope },
            width: Width::Tool,
            rules: rules(*effect),
            workspace: "/w".into(),
            file: (*scope != RuleScope::Conversation).then(|| "/c/piton.toml".into()),
        };
        effects.iter().flat_map(|effect| scopes.iter().map(move |it| offer(effect, it))).collect()
    }

    const EFFECTS: [RuleEffect; 2] = [RuleEffect::Allow, RuleEffect::Deny];
    const SCOPES: [RuleScope; 3] = [RuleScope::Conversation, RuleScope::Project, RuleScope::User];

    fn permission(offers: Vec<Offer>, changeable: Option<&str>) -> Permission {
        let asked = serde_json::json!({
            "id": "1", "kind": "permission", "call": "1.1.0", "tool": "pay", "heading": "Run?",
            "open": true, "changeable": changeable, "at": 0,
        });
        Permission::new(offers, &serde_json::from_value(asked).unwrap())
    }

    fn check(offers: Vec<Offer>, lines: &[&str], expected: Option<Reply>) {
        let mut permission = permission(offers, None);
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
        check(all(), &["M"], Some(Reply::Applied));
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
            permission(Vec::new(), None).text("Run?"),
            "Run? (y) yes, (m) done by hand, (n) no, (?) help: "
        );
        assert_eq!(
            permission(here(), None).text("Run?"),
            "Run? (y) yes, (a) always, (m) done by hand, (n) no, (?) help: "
        );
    }

    #[test]
    fn what_is_not_understood_is_told_what_would_be() {
        let unclear = |lines: &[&str], offers| {
            let mut permission = permission(offers, None);
            let mut heard = Heard::Ask;
            for line in lines {
                heard = permission.hear(line);
            }
            let Heard::Unclear(told) = heard else { panic!("{lines:?}: {heard:?}") };
            told
        };
        let all = || offers(&EFFECTS, &SCOPES);
        assert_eq!(unclear(&["perhaps"], all()), "type y, a, v, m, n or q");
        assert_eq!(unclear(&[""], Vec::new()), "type y, m, n or q");
        assert_eq!(unclear(&["a", "y"], all()), "type c, p, u or b");
        assert_eq!(unclear(&["a x"], all()), "type y, a, v, m, n or q");
        let here = offers(&[RuleEffect::Allow], &[RuleScope::Conversation]);
        assert_eq!(
            unclear(&["v"], here),
            "no rule can say never of this call; type y, a, m, n or q"
        );
    }

    /// A call of the shell, with rules of two widths.
    fn shell() -> Permission {
        let rule = |command: &str, scope| PermissionRule {
            command: Some(command.into()),
            scope,
            ..PermissionRule::of_tool("shell", RuleEffect::Allow)
        };
        let widths = [(Width::Exactly, "rm a"), (Width::FirstWords, "rm *")];
        let offer = |(width, command): (Width, &str), scope: RuleScope| Offer {
            standing: Standing { effect: RuleEffect::Allow, scope },
            width,
            rules: vec![rule(command, scope)],
            workspace: "/w".into(),
            file: None,
        };
        let scopes = [RuleScope::Conversation, RuleScope::Project];
        let offers = scopes.iter().flat_map(|it| widths.map(|width| offer(width, *it)));
        permission(offers.collect(), Some("rm a"))
    }

    #[test]
    fn a_rule_is_chosen_by_its_width_or_written() {
        let kept = |lines: &[&str]| {
            let mut permission = shell();
            let reply = lines.iter().find_map(|line| permission.hear(line).reply());
            match reply {
                Some(Reply::Keep(rules)) => {
                    let rule = rules.into_iter().next().unwrap();
                    Some((rule.command.unwrap(), rule.scope))
                }
                Some(Reply::Always(standing)) => Some(("as usual".into(), standing.scope)),
                _ => None,
            }
        };
        let (here, project) = (RuleScope::Conversation, RuleScope::Project);
        assert_eq!(kept(&["a", "p"]), Some(("as usual".into(), project)));
        assert_eq!(kept(&["a", "2", "p"]), Some(("rm *".into(), project)));
        assert_eq!(kept(&["a", "2", "1", "c"]), Some(("as usual".into(), here)));
        assert_eq!(kept(&["a", "e", "rm *", "c"]), Some(("rm *".into(), here)));
        assert_eq!(kept(&["a", "e", "ls *", "rm *", "p"]), Some(("rm *".into(), project)));
        assert_eq!(kept(&["a", "e", "", "p"]), Some(("as usual".into(), project)));
        assert_eq!(kept(&["a", "3", "u"]), None);
    }

    #[test]
    fn a_call_is_changed_refused_with_a_reason_or_left() {
        let heard = |lines: &[&str]| {
            let mut permission = shell();
            lines.iter().map(|line| permission.hear(line)).last().unwrap()
        };
        let change = |text: &str| Heard::Reply(Reply::Change(text.into()));
        assert_eq!(heard(&["e rm -i a"]), change("rm -i a"));
        assert_eq!(heard(&["E", " Rm B "]), change(" Rm B "), "as it was typed");
        assert_eq!(heard(&["e", "rm a"]), Heard::Reply(Reply::Allow));
        assert_eq!(heard(&["e", "", "y"]), Heard::Reply(Reply::Allow));
        let because = Heard::Reply(Reply::DenyBecause("Not Now".into()));
        assert_eq!(heard(&["no  Not Now "]), because);
        assert_eq!(heard(&["q"]), Heard::Leave);
        assert!(matches!(heard(&["?"]), Heard::Told(_)));
        let mut json = permission(Vec::new(), Some("{}"));
        assert!(matches!(json.hear("e x"), Heard::Unclear(_)));
        assert_eq!(json.hear(r#"e {"a":1}"#), change(r#"{"a":1}"#));
    }

    #[test]
    fn rule_and_place_are_said_before_they_are_chosen() {
        let mut permission = permission(offers(&EFFECTS, &SCOPES), None);
        assert_eq!(
            permission.text("Run?"),
            "Run? (y) yes, (a) always, (v) never, (m) done by hand, (n) no, (?) help: "
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
