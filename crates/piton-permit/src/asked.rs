//! A call as rules see it: its arguments read once, and held against each rule.
//!
//! Knows one call and one rule at a time. Which rule wins is decided in [`super::permit`].

use std::collections::BTreeMap;
use std::path::Path;

use regex::Regex;
use serde_json::{Map, Value};

use super::argument::compiled;
use super::command::{Matcher, Pattern, Sight, allows, finds, is_allowed, written};
use super::line::Line;
use super::reach::Reach;
use super::roles::{Kind, Roles, is_named};
use super::width::{Part, Width};
use super::{address, fault, looks, obeyed, openings, path};
use crate::grant::Grants;
use crate::patch;
use crate::rule::{PermissionRule, Permissions, RuleEffect};
use crate::tool::{Does, Tool};

/// Arguments of tools that run commands which only say how long something may take.
const LIMITS: [&str; 2] = ["timeout_s", "wait_s"];

/// How far rules allow a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// Exactly these commands.
    WordForWord,
    /// Among others, and by rules that take them out of the wall.
    Unconfined,
    /// Among others.
    Widely,
}

/// What becomes of commands of a line that only print, where rules are made for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prints {
    /// They come along with the others, and need no rule.
    Beside,
    /// They get a rule like any other.
    Ruled,
}

/// A call, as far as rules can look at it.
pub(super) struct Asked<'a> {
    workspace: &'a str,
    /// Directories beside the workspace that tools may work in.
    added: &'a [String],
    /// Files that are obeyed beside those that everybody's programs obey.
    protect: &'a [String],
    roles: Roles<'a>,
    fields: Map<String, Value>,
    /// A command line in it.
    pub(super) line: Option<Line>,
    /// Whether more is typed into it later.
    goes_on: bool,
    /// The paths that it names; `None` for one of which it is not clear where it leads.
    paths: Vec<Option<String>>,
    /// What it can touch.
    reach: Reach,
    /// Openings in the wall that it asks for.
    pub(super) needs: Grants,
}

impl<'a> Asked<'a> {
    pub(super) fn new(
        permissions: &'a Permissions,
        workspace: &'a str,
        tool: &Tool<'a>,
        arguments: &str,
    ) -> Self {
        let Permissions { directories: added, protect, .. } = permissions;
        let roles = Roles::of(tool);
        let fields: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        let is_on = |key| fields.get(key).is_some_and(|value| *value != Value::Bool(false));
        let goes_on = is_on("input") || is_on("terminal");
        let line = text(roles.written).map(|written| {
            let mut line = Line::read(written);
            // Half a line may become any other one.
            if roles.kind == Kind::Typing && !written.ends_with('\n') {
                line.doubt("is not a whole line");
            }
            line
        });
        let named = roles.paths.iter().filter_map(|name| fields.get(*name));
        let named = named.filter(|value| roles.is_declared || value.is_string());
        let mut paths: Vec<_> = named.flat_map(|value| places(workspace, added, value)).collect();
        let patches = roles.patches.iter().filter_map(|name| fields.get(*name));
        paths.extend(patches.flat_map(|patch| patched(workspace, added, patch)));
        let reach = match (&line, roles.kind) {
            (Some(line), Kind::Commands | Kind::Typing) => {
                let directory = text(roles.directory).unwrap_or(".");
                let beside: &[_] = if roles.is_declared { &paths } else { &[] };
                Reach::of_line(line, workspace, directory, beside)
            }
            // Without a command line nobody knows what such a tool makes of its texts.
            (None, Kind::Commands | Kind::Typing) => {
                Reach::of_tool(Kind::Unknown, &fields, Vec::new())
            }
            (_, kind) => Reach::of_tool(kind, &fields, paths.clone()),
        };
        let needs = roles.needs.and_then(|name| fields.get(name)).map(openings::read);
        let needs = needs.unwrap_or_default();
        Self { workspace, added, protect, roles, fields, line, goes_on, paths, reach, needs }
    }

    pub(super) fn runs_commands(&self) -> bool {
        self.roles.kind == Kind::Commands
    }

    /// How wide a rule is that is made of it, if nobody says: as narrow as can be.
    pub(super) fn usual_width(&self) -> Width {
        let is_named = self.only_path().is_some() || self.command_line().is_some();
        if is_named { Width::Exactly } else { Width::Tool }
    }

    /// Why no rule can allow it, for people; none if the reason is not known. `others` are rules that forbid
    /// or ask.
    pub(super) fn why_no_rule(&self, others: &[&PermissionRule]) -> Option<String> {
        let stands = |rule: &&&PermissionRule| self.sight(rule) != Sight::Absent;
        if let Some(rule) = others.iter().find(stands) {
            return Some(why_it_asks(rule));
        }
        let line = self.command_line();
        if let Some(doubt) = line.and_then(|line| line.doubt) {
            return Some(format!("the command {doubt}"));
        }
        if self.elsewhere().is_none() {
            return Some("where it works is not clear".into());
        }
        if self.hosts().is_none() {
            return Some("where its address leads is not clear".into());
        }
        None
    }

    fn command_line(&self) -> Option<&Line> {
        self.line.as_ref().filter(|_| self.runs_commands())
    }

    /// The rules of a width that `rule` becomes for it, for what `known` rules do not allow. `None` if it
    /// cannot be said so.
    pub(super) fn rules(
        &self,
        rule: &PermissionRule,
        width: Width,
        known: &[&PermissionRule],
        prints: Prints,
    ) -> Option<Vec<PermissionRule>> {
        let mut rule = rule.clone();
        // What is allowed in a directory is something else in another one.
        if rule.effect == RuleEffect::Allow {
            rule.path = self.elsewhere()?;
        }
        let Some(line) = self.command_line() else {
            rule.arguments = self.hosts()?;
            rule.path = match width {
                Width::Tool => rule.path,
                Width::FirstWords | Width::Program | Width::Unconfined => return None,
                Width::Exactly => Some(path::exactly(self.only_path()?)),
                Width::Directory => Some(within(self.only_path()?)?),
            };
            return rule
                .path
                .as_deref()
                .is_none_or(|it| fault::of_path(it).is_none())
                .then_some(vec![rule]);
        };
        rule.confined = (width == Width::Unconfined).then_some(false);
        let opens = rule.effect == RuleEffect::Allow
            && width != Width::Unconfined
            && !self.needs.is_empty();
        let opening = PermissionRule {
            // An older build does not know the openings, and would take the command out of the wall.
            confined: (width == Width::Exactly).then_some(true),
            grants: self.needs.clone(),
            ..rule.clone()
        };
        let only_looks = self.looks_beside(line, |_| false);
        // Which of several commands is meant is not known, and the others are not to be forbidden.
        if rule.effect != RuleEffect::Allow && !(line.is_certain() && line.commands.len() == 1) {
            return None;
        }
        let mut rules = Vec::new();
        let patterns = self.patterns(known).unwrap_or_default();
        let is_beside = |words: &Vec<String>| {
            prints == Prints::Beside
                && looks::prints(words)
                && !line.commands.iter().all(|it| looks::prints(it))
        };
        let others = line.commands.iter().filter(|it| !is_allowed(&patterns, it) && !is_beside(it));
        for words in others {
            let command = match width {
                Width::Exactly => Pattern::exactly(words)?,
                Width::FirstWords | Width::Unconfined => Pattern::first_words(words)?,
                Width::Program => Pattern::program(words)?,
                Width::Directory | Width::Tool => return None,
            };
            // What only looks has no use for an opening.
            let is_look = !only_looks && self.looks_beside(line, |other| other != words.as_slice());
            let rule = if opens && !is_look { &opening } else { &rule };
            let rule = PermissionRule { command: Some(command), ..rule.clone() };
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        Some(rules)
    }

    /// The path that it works on, if it works on one and on nothing else.
    fn only_path(&self) -> Option<&str> {
        match self.paths.as_slice() {
            [Some(path)] if self.roles.kind == Kind::Paths => Some(path),
            _ => None,
        }
    }

    /// The commands of a line of several, and which of them rules allow.
    pub(super) fn parts(&self, allows: &[&PermissionRule]) -> Vec<Part> {
        let line = self.command_line().filter(|line| line.is_certain() && 1 < line.commands.len());
        let Some(line) = line else { return Vec::new() };
        let patterns = self.patterns(allows).unwrap_or_default();
        let part = |words: &Vec<String>| {
            let is_allowed = is_allowed(&patterns, words);
            Part { command: written(words), is_allowed }
        };
        line.commands.iter().map(part).collect()
    }

    /// Whether it runs a command line that only looks, in the workspace and without anything unusual.
    pub(super) fn only_looks(&self) -> bool {
        let Reach::Commands { directory: Some(directory), .. } = &self.reach else { return false };
        let is_usual = |(name, value): (&String, &Value)| {
            let known = [self.roles.written, self.roles.directory];
            known.contains(&name.as_str())
                || LIMITS.contains(&name.as_str())
                || self.roles.needs == Some(name.as_str()) && self.needs.is_empty()
                || matches!(value, Value::Null | Value::Bool(false))
        };
        let line = self.line.as_ref().filter(|_| self.runs_commands());
        self.fields.iter().all(is_usual)
            && line
                .is_some_and(|line| looks::only_looks(line, self.workspace, self.added, directory))
    }

    /// Whether it declares a path that leaves the workspace, or an address.
    pub(super) fn leads_out(&self) -> bool {
        self.fields.iter().any(|(name, value)| {
            let outside = !self.roles.is_path(name)
                || places(self.workspace, self.added, value).iter().any(Option::is_none);
            outside && !value.is_null() && self.roles.may_lead_out(name)
        })
    }

    pub(super) fn concerns(&self, rule: &PermissionRule) -> bool {
        // What may not be run in the shell may not be run elsewhere, nor be typed. What may not be
        // edited may not be patched.
        let says_what = self.roles.says_commands(rule) || rule.path.is_some();
        let borrowed = self.roles.borrows(rule)
            && rule.effect != RuleEffect::Allow
            && (says_what || self.roles.borrows_edits(rule));
        is_named(rule, self.roles.tool) || borrowed
    }

    /// Whether a rule that forbids or asks is met.
    pub(super) fn sight(&self, rule: &PermissionRule) -> Sight {
        let command = match &self.line {
            _ if !self.roles.says_commands(rule) => Sight::Found,
            None if rule.command.is_some() => Sight::Absent,
            // It is no command line, so its form is looked at as that of any other argument.
            None => Sight::Found,
            Some(line) => match self.roles.matcher(rule) {
                Some(matcher) => finds(&matcher, line),
                // Nobody knows what was meant by it.
                None => Sight::Hidden,
            },
        };
        let command = command.max(self.sight_in_texts(rule));
        let path = rule
            .path
            .as_ref()
            .map_or(Sight::Found, |pattern| self.reach.sight(self.workspace, pattern));
        command.min(path).min(self.sight_of_arguments(rule))
    }

    /// Tools of others may call a command line whatever they like.
    fn sight_in_texts(&self, rule: &PermissionRule) -> Sight {
        let matcher = self.roles.says_commands(rule).then(|| self.roles.matcher(rule)).flatten();
        let runs = |text: &String| {
            let line = Line::read(text);
            matcher.as_ref().is_some_and(|matcher| finds(matcher, &line) == Sight::Found)
        };
        let strange = self.reach.texts().iter().any(runs);
        if strange { Sight::Hidden } else { Sight::Absent }
    }

    /// Whether the arguments that a rule names are there and match. Command lines and paths are no
    /// texts here: a command line is matched command by command in [`Self::sight`], a path without
    /// detours.
    fn sight_of_arguments(&self, rule: &PermissionRule) -> Sight {
        // Another tool has other arguments than the shell.
        if self.roles.borrows(rule) {
            let more = rule.arguments.keys().any(|key| !self.roles.is_ruled(rule, key));
            return if more { Sight::Hidden } else { Sight::Found };
        }
        let sights = rule.arguments.iter().map(|(key, pattern)| {
            // A line of commands is looked at elsewhere.
            if self.roles.is_ruled(rule, key) && self.line.is_some() {
                return Sight::Found;
            }
            // Nobody knows what was meant by a bad one: it allows nothing, and what forbids asks.
            compiled(pattern, rule.effect)
                .map_or(Sight::Hidden, |pattern| self.sight_of(key, &pattern))
        });
        sights.fold(Sight::Found, Sight::min)
    }

    fn sight_of(&self, key: &str, pattern: &Regex) -> Sight {
        let found = |matches| if matches { Sight::Found } else { Sight::Absent };
        match self.fields.get(key) {
            None | Some(Value::Null) => Sight::Absent,
            Some(Value::String(path)) if self.roles.is_path(key) => {
                let path = path::within_any(self.workspace, self.added, path);
                path.map_or(Sight::Hidden, |path| found(pattern.is_match(&path)))
            }
            Some(Value::String(text)) if self.roles.addresses.contains(&key) => {
                let plain = address::plain(text);
                plain.map_or(Sight::Hidden, |address| found(pattern.is_match(&address.whole)))
            }
            Some(Value::String(text)) => found(pattern.is_match(text)),
            Some(value) => found(pattern.is_match(&value.to_string())),
        }
    }

    /// Whether rules that allow cover the whole call, and how closely.
    pub(super) fn allowed(&self, rules: &[&PermissionRule]) -> Option<Allowed> {
        let names = |rule: &&PermissionRule| rule.frees_what_it_names();
        let closely: Vec<_> = rules.iter().copied().filter(names).collect();
        let closely = self.patterns(&closely).unwrap_or_default();
        let closely: Vec<_> = closely.into_iter().filter(Matcher::is_closed).collect();
        if self.command_line().is_some_and(|line| allows(&closely, line)) {
            return Some(Allowed::WordForWord);
        }
        let unconfined: Vec<_> =
            rules.iter().copied().filter(|rule| rule.is_unconfined()).collect();
        if self.is_covered(&unconfined) {
            return Some(Allowed::Unconfined);
        }
        let is_covered = self.is_covered(rules) || self.is_covered_beside_prints(rules);
        is_covered.then_some(Allowed::Widely)
    }

    /// Whether rules allow some of its commands, and all others only print: `make test 2>&1 | tail`. Not, if
    /// what is printed goes into a command (`echo x | sh`), or if a rule takes commands out of the wall: what
    /// prints would come along.
    fn is_covered_beside_prints(&self, rules: &[&PermissionRule]) -> bool {
        let rules: Vec<_> = rules.iter().copied().filter(|rule| !rule.is_unconfined()).collect();
        let (Some(line), Some(known)) = (self.command_line(), self.patterns(&rules)) else {
            return false;
        };
        let is_known = |words: &[String]| is_allowed(&known, words);
        let prints = |words: &Vec<String>| is_known(words) || looks::prints(words);
        let known: Vec<bool> = line.commands.iter().map(|words| is_known(words)).collect();
        let mut pairs = known.windows(2).enumerate();
        let is_fed =
            pairs.any(|(at, pair)| pair == [false, true] && line.piped.contains(&(at + 1)));
        line.is_certain()
            && !is_fed
            && known.contains(&true)
            && line.commands.iter().all(prints)
            && self.looks_beside(line, is_known)
    }

    /// The rules that allow some of it, if everything else in it only looks.
    pub(super) fn allowing<'r>(&self, rules: &[&'r PermissionRule]) -> Vec<&'r PermissionRule> {
        let mut known: Vec<Matcher> = Vec::new();
        let mut allowing = Vec::new();
        let mut whole = false;
        for rule in rules {
            let Some(patterns) = self.patterns(&[*rule]) else {
                whole = true;
                allowing.push(*rule);
                continue;
            };
            let commands = self.command_line().map(|line| line.commands.as_slice());
            let mut commands = commands.unwrap_or_default().iter();
            if commands.any(|words| is_allowed(&patterns, words)) {
                allowing.push(*rule);
                known.extend(patterns);
            }
        }
        let line = self.command_line();
        let is_known = |words: &[String]| is_allowed(&known, words);
        let all =
            line.is_some_and(|line| allows(&known, line) || self.looks_beside(line, is_known));
        if whole || all { allowing } else { Vec::new() }
    }

    /// Whether the commands of a line that are not known only look.
    fn looks_beside(&self, line: &Line, is_known: impl Fn(&[String]) -> bool) -> bool {
        let Reach::Commands { directory: Some(directory), .. } = &self.reach else { return false };
        looks::looks_beside(line, self.workspace, self.added, directory, is_known)
    }

    /// Whether openings are enough for what it asks for.
    pub(super) fn covers(&self, given: &Grants) -> bool {
        openings::covers(given, &self.needs, self.workspace, self.added)
    }

    fn is_covered(&self, rules: &[&PermissionRule]) -> bool {
        let Some(patterns) = self.patterns(rules) else { return true };
        self.command_line().is_some_and(|line| allows(&patterns, line))
    }

    /// Whether what is allowed so far runs outside the wall. Of several commands one may feed another one, or
    /// change what it means, and what is typed later was read by nobody: that is not what was approved.
    pub(super) fn is_free(&self, allowed: Allowed) -> bool {
        match allowed {
            Allowed::WordForWord => {
                let is_alone = |line: &Line| line.commands.len() == 1;
                !self.goes_on && self.line.as_ref().is_some_and(is_alone)
            }
            Allowed::Unconfined => true,
            Allowed::Widely => false,
        }
    }

    /// Whether rules let it run outside the wall.
    pub(super) fn runs_free(&self, permissions: &Permissions) -> bool {
        let rules = permissions.rules.iter();
        let allows = rules.filter(|rule| rule.effect == RuleEffect::Allow && self.concerns(rule));
        let allowed = self.allowed(&allows.collect::<Vec<_>>());
        allowed.is_some_and(|allowed| self.is_free(allowed))
    }

    /// What rules that allow say of commands here; `None` if one of them allows the whole call.
    fn patterns(&self, rules: &[&PermissionRule]) -> Option<Vec<Matcher>> {
        let mut patterns = Vec::new();
        let fits = |rule: &PermissionRule| {
            is_named(rule, self.roles.tool) && self.sight_of_arguments(rule) == Sight::Found
        };
        for rule in rules.iter().filter(|rule| fits(rule)) {
            match self.roles.says_commands(rule).then(|| self.roles.matcher(rule)) {
                None if self.is_allowed_here(rule) => return None,
                Some(Some(pattern)) if self.counts_here(rule, &pattern) => patterns.push(pattern),
                None | Some(_) => {}
            }
        }
        Some(patterns)
    }

    /// Whether a rule without a command is for this call.
    fn is_allowed_here(&self, rule: &PermissionRule) -> bool {
        let Some(pattern) = rule.path.as_deref() else { return true };
        // A path says nothing of what a command does, nor of what strangers make of theirs.
        let is_own = rule.tool == self.roles.tool && !self.runs_commands();
        let known = self.roles.kind == Kind::Paths || is_own;
        // A pattern from the workspace allows nothing in a directory that was added.
        let is_whole = |text: &str| text.starts_with('/');
        let fits = |path: &str| path::matches(pattern, path) && is_whole(pattern) == is_whole(path);
        known && self.all_paths(fits)
    }

    /// Whether a rule for commands counts where this call runs: without a path in the workspace, with
    /// one in that directory, and then word for word.
    fn counts_here(&self, rule: &PermissionRule, pattern: &Matcher) -> bool {
        let Reach::Commands { directory: Some(directory), .. } = &self.reach else { return false };
        match &rule.path {
            None => directory == ".",
            Some(path) => pattern.is_closed() && path::matches(path, directory),
        }
    }

    /// The directory that a rule for this call has to name, if any; `None` if it cannot.
    #[expect(clippy::option_option, reason = "it has none, it has one, it cannot be named")]
    pub(super) fn elsewhere(&self) -> Option<Option<String>> {
        match &self.reach {
            Reach::Commands { directory, .. } => {
                let directory = directory.as_ref()?;
                if directory == "." {
                    return Some(None);
                }
                let pattern = path::exactly(directory);
                fault::of_path(&pattern).is_none().then_some(Some(pattern))
            }
            Reach::Paths(_) | Reach::Texts(_) => Some(None),
        }
    }

    /// What a rule for this call has to say of its addresses: the host of each. `None` if one of them
    /// is not clear.
    pub(super) fn hosts(&self) -> Option<BTreeMap<String, String>> {
        let mut hosts = BTreeMap::new();
        for name in &self.roles.addresses {
            match self.fields.get(*name) {
                None | Some(Value::Null) => {}
                Some(value) => {
                    let address = address::plain(value.as_str()?)?;
                    hosts.insert((*name).to_owned(), address.of_host());
                }
            }
        }
        Some(hosts)
    }

    /// Whether it names a host that the settings do not open, or changes a file that programs outside the wall
    /// obey.
    pub(super) fn goes_where_nothing_is_opened(&self, does: Does, opened: &Grants) -> bool {
        let named = |name: &&str| self.fields.get(*name).filter(|value| !value.is_null());
        let mut addresses = self.roles.addresses.iter().filter_map(named);
        let is_open = |value: &Value| {
            let address = value.as_str().and_then(address::plain);
            address.is_some_and(|address| openings::reaches(&opened.network, &address.host()))
        };
        let is_obeyed =
            |path: &String| self.is_obeyed(path) && !openings::writes(opened, self.workspace, path);
        addresses.any(|value| !is_open(value))
            || does == Does::Edit && self.paths.iter().flatten().any(is_obeyed)
    }

    pub(super) fn edits_plain_file(&self) -> bool {
        self.all_paths(|path| !self.is_obeyed(path))
    }

    /// Whether it names a file that programs outside the wall run or obey.
    pub(super) fn edits_obeyed_file(&self) -> bool {
        self.paths.iter().flatten().any(|path| self.is_obeyed(path))
    }

    /// Whether programs outside the wall run or obey a file, as far as its name and the settings tell.
    fn is_obeyed(&self, path: &str) -> bool {
        let place = Path::new(self.workspace).join(path);
        let roots = self.added.iter().map(String::as_str).chain([self.workspace]);
        let mut names =
            roots.flat_map(|root| self.protect.iter().map(move |name| Path::new(root).join(name)));
        obeyed::is_one(path) || names.any(|name| obeyed::stands_for(&name, &place))
    }

    /// Whether it names paths, all of them are clear, and all of them are so.
    fn all_paths(&self, is_so: impl Fn(&str) -> bool) -> bool {
        let are_so = self.paths.iter().all(|path| path.as_deref().is_some_and(&is_so));
        !self.paths.is_empty() && are_so
    }
}

/// What a rule that forbids or asks does to a call that it does not simply deny.
fn why_it_asks(rule: &PermissionRule) -> String {
    let what = rule.command.as_ref().or(rule.path.as_ref());
    let what = what.map(|what| format!(" `{what}`")).unwrap_or_default();
    match rule.effect {
        RuleEffect::Ask => "a rule says that it always asks".into(),
        RuleEffect::Allow | RuleEffect::Deny => {
            format!("it could do what a rule forbids (deny {}{what}), so it always asks", rule.tool)
        }
    }
}

/// The same for the paths in a patch. Where one leads that cannot be read is not clear.
fn patched(workspace: &str, added: &[String], value: &Value) -> Vec<Option<String>> {
    match value.as_str().and_then(patch::paths) {
        Some(paths) => {
            paths.into_iter().map(|path| path::within_any(workspace, added, path)).collect()
        }
        None => vec![None],
    }
}

/// The paths in an argument, each as it is in the workspace or in an added directory; `None` for one that is not clear.
fn places(workspace: &str, added: &[String], value: &Value) -> Vec<Option<String>> {
    match value {
        Value::Null => Vec::new(),
        Value::String(path) => vec![path::within_any(workspace, added, path)],
        Value::Array(values) => {
            values.iter().flat_map(|value| places(workspace, added, value)).collect()
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => vec![None],
    }
}

/// Every path in the directory of a path; `None` for one that is in the workspace itself.
fn within(path: &str) -> Option<String> {
    let (directory, _) = path.rsplit_once('/').filter(|(directory, _)| !directory.is_empty())?;
    Some(format!("{}/**", path::exactly(directory)))
}
