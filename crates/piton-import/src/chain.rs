//! Records that name the one before them: the way from the newest one to the first.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::fields::{is_true, text};
use crate::record::{Stand, Story};

/// A record of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) id: Option<String>,
    pub(crate) parent: Option<String>,
    /// Whether a person says something in it.
    pub(crate) is_said: bool,
}

/// The way from a leaf to the root.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    /// The places of the records on it.
    pub(crate) places: BTreeSet<usize>,
    /// The places of records whose parent is not in the file. The record in front of each goes on.
    pub(crate) gaps: Vec<usize>,
}

/// The file of a sub-agent has records beside the main line only. There they are the main line.
pub(crate) fn take_side_for_main(records: &mut [(u64, Value)], story: &mut Story) {
    let is_spoken = |record: &Value| matches!(text(record, "type"), Some("user" | "assistant"));
    let mut spoken = records.iter().filter(|(_, record)| is_spoken(record)).peekable();
    let Some((line, first)) = spoken.peek() else { return };
    let (line, agent) = (*line, text(first, "agentId").unwrap_or_default().to_owned());
    if !spoken.all(|(_, record)| is_true(record, "isSidechain")) {
        return;
    }
    story.is_of_sub_agent(Stand::line(line), &agent);
    for (_, record) in records {
        record.as_object_mut().map(|record| record.remove("isSidechain"));
    }
}

/// Takes out records that stand in the file twice, letter by letter. Records that only share a name are pieces of one.
pub(crate) fn take_out_repeated(records: &mut Vec<(u64, Value)>, name: &str, story: &mut Story) {
    let mut known: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    records.retain(|(line, record)| {
        let Some(id) = text(record, name) else { return true };
        let same = known.entry(id.to_owned()).or_default();
        if same.contains(record) {
            story.remark("repeated_record", Stand::line(*line), id);
            return false;
        }
        same.push(record.clone());
        true
    });
}

/// Walks from `leaf` to the first record.
pub(crate) fn walk(nodes: &[Node], leaf: usize) -> Chain {
    let mut by_id: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, node) in nodes.iter().enumerate() {
        if let Some(id) = &node.id {
            by_id.entry(id).or_default().push(place);
        }
    }
    let mut chain = Chain::default();
    let mut is_said = false;
    let mut next = Some(leaf);
    while let Some(place) = next {
        // A circle ends where it began.
        if !chain.places.insert(place) {
            break;
        }
        let Some(node) = nodes.get(place) else { break };
        // Records that share a name are pieces of one.
        let same = node.id.as_deref().and_then(|id| by_id.get(id));
        chain.places.extend(same.into_iter().flatten());
        is_said |= node.is_said;
        let parent = node.parent.as_ref();
        if parent.is_none() && (is_said || place == 0) {
            break;
        }
        // A way on which nobody has said anything has lost its beginning.
        next = parent.and_then(|parent| by_id.get(parent.as_str())?.last()).copied();
        if next.is_none() {
            chain.gaps.push(place);
            next = place.checked_sub(1);
        }
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, parent: &str) -> Node {
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        Node { id: named(id), parent: named(parent), is_said: id == "a" }
    }

    #[test]
    fn a_record_that_is_there_twice_counts_once_and_a_piece_of_one_stays() {
        let record = |text: &str| serde_json::json!({ "uuid": "a", "text": text });
        let mut records = vec![(1, record("x")), (2, record("y")), (3, record("x"))];
        let mut story = Story::default();
        take_out_repeated(&mut records, "uuid", &mut story);
        assert_eq!(records.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(story.remarks.iter().map(|it| it.line).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_branch_that_was_left_is_not_on_the_way() {
        let nodes = [node("a", ""), node("b", "a"), node("c", "a")];
        let chain = walk(&nodes, 2);
        assert_eq!(chain.places.into_iter().collect::<Vec<_>>(), [0, 2]);
        assert!(chain.gaps.is_empty());
    }

    #[test]
    fn a_gap_goes_on_with_the_record_in_front_and_a_circle_ends() {
        let nodes = [node("a", ""), node("c", "lost"), node("d", "c")];
        let chain = walk(&nodes, 2);
        assert_eq!((chain.places.len(), chain.gaps.as_slice()), (3, [1].as_slice()));
        let lost = [node("a", ""), node("b", "a"), node("c", ""), node("d", "c")];
        let chain = walk(&lost, 3);
        assert_eq!((chain.places.len(), chain.gaps.as_slice()), (4, [2].as_slice()));
        let circle = [node("a", "b"), node("b", "a")];
        assert_eq!(walk(&circle, 1).places.len(), 2);
    }
}
