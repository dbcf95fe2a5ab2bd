//! What a decision on a call can make stand for later ones, and where that is kept.

use std::path::{Path, PathBuf};

use piton::Standing;
use piton_agent::rules::file::{self, RuleFileError};
use piton_core::view::{Always, PermissionRule, QuestionView, RuleEffect, RuleScope, Width};

use crate::render::rule::told_all;

/// A standing decision that can be made on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) standing: Standing,
    /// How much its rules say beside the call.
    pub(crate) width: Width,
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
        let offer = |Always { effect, scope, width, rules, .. }: &Always| {
            let file = match scope {
                RuleScope::Conversation => None,
                RuleScope::Project | RuleScope::User => Some(file?.to_owned()),
            };
            let standing = Standing { effect: *effect, scope: *scope };
            let (width, rules) = (*width, rules.clone());
            Some(Self { standing, width, rules, workspace: workspace.into(), file })
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

    /// How far its rules reach, for people.
    pub(super) fn reach(&self) -> String {
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
