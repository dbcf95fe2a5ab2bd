//! What to do next when the store cannot do its work.

use piton_store::StoreError;

/// One way per line.
pub(super) fn storing(error: &StoreError) -> Vec<String> {
    match error {
        StoreError::NewerFormat { .. } => {
            vec!["use the newer piton, or set PITON_HOME to another directory".into()]
        }
        StoreError::Full { .. } => vec!["make room; what was recorded is kept".into()],
        StoreError::Io { .. } | StoreError::Database { .. } | StoreError::DamagedBlob { .. } => {
            vec!["check the disk, or set PITON_HOME to another directory".into()]
        }
        // Whoever met the damage left a note for the next start.
        StoreError::Damaged { .. } => vec![
            "to have all of it checked, and what can be read brought back: piton doctor --salvage, while no other piton is at work".into(),
            "a damaged database is then kept under another name, and a new one begun; piton help doctor says more".into(),
        ],
        StoreError::DamagedEntry { conversation, seq, .. } if 1 < seq.0 => {
            let last = seq.0 - 1;
            vec![
                format!("what is before it can be read: piton print {conversation}, piton export {conversation}"),
                format!("to go on from there: piton fork {conversation} --entry {last}"),
                "other conversations still work: piton ls --all shows them; a copy of the home may have the rest: piton help doctor".into(),
            ]
        }
        StoreError::DamagedEntry { .. } => vec![
            "other conversations still work: piton ls --all shows them, --id ID chooses one".into(),
            "or begin another one: piton query --new \"TEXT\"".into(),
        ],
        StoreError::ForksTooDeep { .. } => {
            vec!["piton print --json --raw shows the entries that it has by itself".into()]
        }
        StoreError::UnknownConversation(_) => vec!["piton ls --all shows all conversations".into()],
        StoreError::Letter { .. } => vec!["answer with fewer words".into()],
        StoreError::UnknownBlob(_) | StoreError::BlobSize { .. } | StoreError::Closed => Vec::new(),
    }
}
