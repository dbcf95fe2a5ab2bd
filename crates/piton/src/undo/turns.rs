//! The changes of files that turns made, file by file: what taking them all back would do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use piton_core::id::{CallId, ConversationId, TurnId};
use piton_core::state::{Call, Edit, Item, State, Turn};
use piton_store::StoreError;

use super::change::{FileChange, FileChangeState};
use crate::engine::Engine;
use crate::reader::{self, FORKS_MAX};

/// The changes that turns made in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedFile {
    /// The file, relative to its workspace.
    pub path: String,
    /// The changes, the newest first. They are taken back in this order.
    pub changes: Vec<FileChange>,
    /// What taking them back does.
    pub fate: FileFate,
}

/// What taking the changes of a file back does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileFate {
    /// The file has the content again that it had before.
    Restored,
    /// The file goes: it did not exist before.
    Removed,
    /// Nothing: somebody else has changed the file since, and it stays as it is.
    Conflict,
    /// Nothing: this later turn of the conversation has changed the file again.
    ChangedAgain(TurnId),
    /// Nothing: all of them were taken back.
    TakenBack,
}

impl Engine {
    /// The files that a conversation changed in its turns from `first` to `last`, by itself or by workers.
    /// Turns that it shares with the conversation that it was forked from count, and what became of a
    /// change is told from the files. Only what tools for files wrote, and whose old version is kept.
    pub async fn changes_of_turns(
        &self,
        id: &ConversationId,
        first: TurnId,
        last: TurnId,
    ) -> Result<Vec<ChangedFile>, StoreError> {
        let state = reader::state(&*self.parts().journal, id).await?;
        let family = self.family(id).await?;
        let all = self.file_changes().of_all(&places(&state));
        let own = calls(&state, first, last);
        let mut later: Vec<TurnId> = state.turns.iter().map(|turn| turn.id).collect();
        later.retain(|turn| last < *turn);
        let whose = |change: &FileChange| {
            if made_by(&own, &family, change) {
                return Whose::Ours;
            }
            let by = |turn: &&TurnId| made_by(&calls(&state, **turn, **turn), &family, change);
            later.iter().find(by).map_or(Whose::Other, |turn| Whose::Later(*turn))
        };
        Ok(by_file(all, whose))
    }

    /// The changes of files that one call made, by itself or by its worker, the newest first. Only what tools
    /// for files wrote, and whose old version is kept.
    pub async fn changes_of_call(
        &self,
        id: &ConversationId,
        call: CallId,
    ) -> Result<Vec<FileChange>, StoreError> {
        let state = reader::state(&*self.parts().journal, id).await?;
        let family = self.family(id).await?;
        let mut own = calls(&state, call.turn, call.turn);
        own.retain(|known| known.id == call);
        let mut changes = self.file_changes().of_all(&places(&state));
        changes.retain(|change| made_by(&own, &family, change));
        Ok(changes)
    }

    /// A conversation, and those that it was forked from.
    async fn family(&self, id: &ConversationId) -> Result<BTreeSet<ConversationId>, StoreError> {
        let journal = &*self.parts().journal;
        let (mut family, mut next) = (BTreeSet::new(), Some(id.clone()));
        while let Some(member) = next.take_if(|_| family.len() <= FORKS_MAX) {
            next = match reader::origin_of(journal, &member).await {
                Ok(origin) => origin.map(|origin| origin.conversation),
                Err(StoreError::UnknownConversation(_)) => None,
                Err(error) => return Err(error),
            };
            // A circle, which no sound journal has.
            next = next.filter(|next| !family.contains(next));
            family.insert(member);
        }
        Ok(family)
    }
}

/// The directories that the tools of a conversation work in.
fn places(state: &State) -> Vec<&Path> {
    let directories = state.config.permissions.directories.iter().map(String::as_str);
    std::iter::once(state.workspace()).chain(directories).map(Path::new).collect()
}

/// Who made a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// The turns that are asked about.
    Ours,
    /// A later turn of the same conversation.
    Later(TurnId),
    /// Anybody else.
    Other,
}

/// The calls of turns, also of attempts that were given up.
fn calls(state: &State, first: TurnId, last: TurnId) -> Vec<&Call> {
    let turns = state.turns.iter().chain(&state.superseded);
    let turns = turns.filter(|turn| first <= turn.id && turn.id <= last);
    let items = turns.flat_map(|turn: &Turn| turn.items.iter().chain(&turn.superseded));
    let steps = items.filter_map(|item| match item {
        Item::Step(step) => Some(step),
        Item::User(_) => None,
    });
    steps.flat_map(|step| &step.calls).collect()
}

/// Whether one of these calls made a change, by itself or by its worker.
fn made_by(calls: &[&Call], family: &BTreeSet<ConversationId>, change: &FileChange) -> bool {
    let mut member = Some(change.conversation.clone());
    while let Some(worker) = member {
        if calls.iter().any(|call| call.worker.as_ref() == Some(&worker)) {
            return true;
        }
        member = worker.as_worker().map(|(parent, _)| parent);
    }
    let is_same = |edit: &Edit| {
        (edit.before.as_ref(), edit.after.as_ref())
            == (change.before.as_ref(), change.after.as_ref())
            && Path::new(&*edit.path).ends_with(&change.path)
    };
    let began = |call: &&&Call| call.started.is_some_and(|at| at.0 <= change.at.0 + 1);
    let mut made = calls.iter().filter(|call| call.edits.iter().any(is_same));
    family.contains(&change.conversation) && made.any(|call| began(&call))
}

fn by_file(all: Vec<FileChange>, whose: impl Fn(&FileChange) -> Whose) -> Vec<ChangedFile> {
    let mut files: BTreeMap<PathBuf, Vec<(Whose, FileChange)>> = BTreeMap::new();
    for change in all {
        let file = change.workspace.join(&change.path);
        files.entry(file).or_default().push((whose(&change), change));
    }
    let mut found: Vec<_> = files.into_values().filter_map(of_file).collect();
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// What becomes of one file, from its newest change to its oldest.
fn of_file(changes: Vec<(Whose, FileChange)>) -> Option<ChangedFile> {
    let path = changes.first()?.1.path.clone();
    let is_back = |change: &FileChange| change.state == FileChangeState::TakenBack;
    let ours = changes.iter().filter(|(whose, _)| *whose == Whose::Ours);
    let (ours, back): (Vec<_>, Vec<_>) = ours.partition(|(_, it)| !is_back(it));
    let of = |found: Vec<&(Whose, FileChange)>| {
        found.into_iter().map(|(_, change)| change.clone()).collect::<Vec<_>>()
    };
    if ours.is_empty() {
        let fate = FileFate::TakenBack;
        return (!back.is_empty()).then(|| ChangedFile { path, changes: of(back), fate });
    }
    let standing = changes.iter().filter(|(_, change)| !is_back(change));
    let is_as_left = standing.clone().next().is_some_and(|(_, change)| {
        matches!(change.state, FileChangeState::Made | FileChangeState::HalfTakenBack)
    });
    // Newer changes of later turns, then ours, then whatever was before.
    let is_later = |whose: Whose| matches!(whose, Whose::Later(_));
    let again = standing.clone().take_while(|(whose, _)| is_later(*whose)).count();
    let in_a_row = standing.clone().skip(again);
    let in_a_row = in_a_row.take_while(|(whose, _)| *whose == Whose::Ours).count();
    let newest = standing.clone().next().map(|(whose, _)| *whose);
    let fate = match newest {
        _ if in_a_row < ours.len() || !is_as_left => FileFate::Conflict,
        Some(Whose::Later(turn)) => FileFate::ChangedAgain(turn),
        _ if ours.last().is_some_and(|(_, oldest)| oldest.before.is_none()) => FileFate::Removed,
        _ => FileFate::Restored,
    };
    Some(ChangedFile { path, changes: of(ours), fate })
}

#[cfg(test)]
mod tests {
    use piton_core::id::{Digest, Timestamp};

    use super::*;

    fn change(number: usize, whose: &str, state: FileChangeState) -> FileChange {
        let digest = |number: usize| (0 < number).then(|| Digest::new(number.to_string()));
        FileChange {
            number,
            name: number.to_string(),
            conversation: ConversationId::new(whose),
            workspace: "/w".into(),
            path: "a.txt".into(),
            before: digest(number - 1),
            after: digest(number),
            state,
            at: Timestamp(0),
            patch: None,
        }
    }

    fn check(changes: &[(&str, FileChangeState)], expected: Option<(FileFate, &[usize])>) {
        let numbers = (1..=changes.len()).rev();
        let all = changes.iter().zip(numbers).map(|((whose, state), it)| change(it, whose, *state));
        let all = all.collect();
        let found = by_file(all, |change| match change.conversation.as_str() {
            "ours" => Whose::Ours,
            "later" => Whose::Later(TurnId(7)),
            _ => Whose::Other,
        });
        let found = found.first().map(|file| {
            (file.fate, file.changes.iter().map(|change| change.number).collect::<Vec<_>>())
        });
        let expected = expected.map(|(fate, numbers)| (fate, numbers.to_vec()));
        assert_eq!(found, expected, "{changes:?}");
    }

    // The newest change first.
    #[test]
    fn a_file_is_restored_unless_somebody_else_changed_it_since() {
        use FileChangeState::{ChangedSince, Made, TakenBack};
        check(&[("ours", Made)], Some((FileFate::Removed, &[1])));
        check(
            &[("ours", Made), ("ours", ChangedSince), ("other", ChangedSince)],
            Some((FileFate::Restored, &[3, 2])),
        );
        check(&[("ours", ChangedSince)], Some((FileFate::Conflict, &[1])));
        check(&[("other", Made), ("ours", ChangedSince)], Some((FileFate::Conflict, &[1])));
        check(
            &[("ours", Made), ("other", ChangedSince), ("ours", ChangedSince)],
            Some((FileFate::Conflict, &[3, 1])),
        );
        let again = FileFate::ChangedAgain(TurnId(7));
        check(&[("later", Made), ("ours", ChangedSince)], Some((again, &[1])));
        check(&[("later", ChangedSince), ("ours", Made)], Some((FileFate::Conflict, &[1])));
        check(
            &[("other", Made), ("later", ChangedSince), ("ours", ChangedSince)],
            Some((FileFate::Conflict, &[1])),
        );
        check(&[("other", TakenBack), ("ours", Made)], Some((FileFate::Removed, &[1])));
        check(&[("ours", TakenBack)], Some((FileFate::TakenBack, &[1])));
        check(&[("other", Made)], None);
    }
}
