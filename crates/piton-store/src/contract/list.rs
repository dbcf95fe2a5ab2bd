//! Lists: order, pages, rows, holders, prefixes.

use piton_core::event::{BreakReason, Shelf};
use piton_core::id::{CallId, ConversationId, Seq, Timestamp, TurnId};
use piton_core::view::Status;

use super::fixture::{Store, batch, begin, conversation, holder, lease, row};
use crate::{
    Batch, Changes, Directory, Filter, ListPosition, Listing, Page, StatusRow, TurnIs, Wants,
};

async fn touched(store: &Store, name: &str, moment: u64) {
    let lease = lease(store, name).await;
    let status = row(Status::Idle, moment);
    store.append(&lease, Batch { status, ..batch(0, &["one"]) }).await.unwrap();
}

fn shown(listing: &Listing) -> String {
    let names: Vec<_> = listing.rows.iter().map(|row| row.conversation.as_str()).collect();
    names.join(" ")
}

async fn names(store: &Store, filter: Filter) -> String {
    shown(&store.list(Page { filter, ..Page::default() }).await.unwrap())
}

/// All pages of this many rows, one after the other.
async fn pages(store: &Store, limit: usize) -> Vec<String> {
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let listing = store.list(Page { after, ..Page::first(limit) }).await.unwrap();
        pages.push(shown(&listing));
        after = listing.next;
        if after.is_none() {
            return pages;
        }
    }
}

pub async fn a_list_is_ordered_by_touch_and_paged(store: Store) {
    assert_eq!(pages(&store, 10).await, [""]);
    for (name, moment) in [("b", 20), ("d", 40), ("a", 10), ("c", 30), ("e", 40)] {
        touched(&store, name, moment).await;
    }
    // Of two that were touched at the same moment the newer conversation comes first.
    assert_eq!(pages(&store, usize::MAX).await, ["e d c b a"]);
    assert_eq!(pages(&store, 5).await, ["e d c b a"]);
    assert_eq!(pages(&store, 2).await, ["e d", "c b", "a"]);
    assert_eq!(pages(&store, 1).await, ["e", "d", "c", "b", "a"]);
    assert_eq!(pages(&store, 0).await, [""]);
    assert_eq!(store.list(Page::first(1)).await.unwrap().total, 5);

    let lease = lease(&store, "a").await;
    let status = row(Status::Idle, 50);
    store.append(&lease, Batch { status, ..batch(1, &["two"]) }).await.unwrap();
    assert_eq!(pages(&store, 3).await, ["a e d", "c b"]);
}

// A row that is touched moves to the front, past the cursor of a reader who has not seen it.
pub async fn no_row_is_lost_while_rows_move(store: Store) {
    for (name, moment) in [("a", 10), ("b", 20), ("c", 30), ("d", 40), ("e", 50)] {
        touched(&store, name, moment).await;
    }
    let first = store.list(Page::first(2)).await.unwrap();
    assert_eq!(shown(&first), "e d");
    for (name, moment, place) in [("a", 60, 1), ("b", 61, 1), ("f", 62, 0)] {
        let lease = lease(&store, name).await;
        let status = row(Status::Idle, moment);
        store.append(&lease, Batch { status, ..batch(place, &["more"]) }).await.unwrap();
    }
    // Pages that are too small for all that moved go on where they ended.
    for limit in 1..5 {
        let (mut seen, mut after) = (Vec::new(), first.next);
        while after.is_some() {
            let listing = store.list(Page { after, ..Page::first(limit) }).await.unwrap();
            assert!(listing.rows.len() <= limit);
            seen.extend(listing.rows.into_iter().map(|row| row.conversation.to_string()));
            after = listing.next;
        }
        seen.sort();
        assert_eq!(seen, ["a", "b", "c", "f"], "pages of {limit}");
    }
}

pub async fn a_list_is_filtered(store: Store) {
    let worker = conversation("b").of_worker(CallId { turn: TurnId(1), step: 0, index: 0 });
    let asking = Status::WaitingForInput { tool: "pay".into() };
    let kept = [
        ("a", "/work", "Mend the roof", Status::Idle),
        ("b", "/work/deep", "mend the DOOR", asking),
        ("c", "/workshop", "Ärger", Status::PendingTools),
        (worker.as_str(), "/work", "", Status::Idle),
    ];
    for (name, workspace, title, status) in kept {
        let lease = lease(&store, name).await;
        let (workspace, title) = (workspace.to_owned(), title.to_owned());
        let shelf = if name == "c" { Shelf::Archived } else { Shelf::Listed };
        let status = StatusRow { title, workspace, shelf, ..row(status, 1) };
        store.append(&lease, Batch { status, ..batch(0, &["one"]) }).await.unwrap();
    }
    let all = Filter::default();
    let within = |path: &str| Some(Directory::Within(path.to_owned()));
    let exactly = Some(Directory::Exactly("/work".to_owned()));
    let text = |text: &str| Some(text.to_owned());
    let named = |wanted: &str| wanted.replace('W', worker.as_str());
    for (filter, wanted) in [
        (all.clone(), "W c b a"),
        (Filter { worker: Some(false), ..all.clone() }, "c b a"),
        (Filter { worker: Some(true), ..all.clone() }, "W"),
        (Filter { directory: exactly.clone(), ..all.clone() }, "W a"),
        (Filter { directory: within("/work"), ..all.clone() }, "W b a"),
        (Filter { directory: within("/work/"), ..all.clone() }, "W b a"),
        (Filter { directory: within("/"), ..all.clone() }, "W c b a"),
        (Filter { text: text("mend"), ..all.clone() }, "b a"),
        (Filter { text: text("ärg"), ..all.clone() }, "c"),
        (Filter { turn: Some(TurnIs::Ended), ..all.clone() }, "W a"),
        (Filter { turn: Some(TurnIs::Open), ..all.clone() }, "c b"),
        (Filter { turn: Some(TurnIs::Asking), ..all.clone() }, "b"),
        (Filter { shelf: Some(Shelf::Listed), ..all.clone() }, "W b a"),
        (Filter { shelf: Some(Shelf::Archived), ..all.clone() }, "c"),
        (Filter { since: Some(Timestamp(1)), ..all.clone() }, "W c b a"),
        (Filter { since: Some(Timestamp(2)), ..all.clone() }, ""),
        (Filter { directory: exactly, worker: Some(false), ..all.clone() }, "a"),
    ] {
        assert_eq!(names(&store, filter.clone()).await, named(wanted), "{filter:?}");
    }
}

pub async fn changes_name_every_conversation_that_changed_once(store: Store) {
    for (name, moment) in [("a", 10), ("b", 20), ("c", 30)] {
        touched(&store, name, moment).await;
    }
    let start = store.list(Page::first(1)).await.unwrap().position;
    let nothing = store.changes(start, 10).await.unwrap();
    assert_eq!((nothing.rows, nothing.position, nothing.more), (Vec::new(), start, false));

    let writer = lease(&store, "b").await;
    // Long enough that a store has put the first of them away.
    for place in 1..700 {
        store.append(&writer, batch(place, &["more"])).await.unwrap();
    }
    touched(&store, "d", 40).await;
    let lease = lease(&store, "a").await;
    store.append(&lease, batch(1, &["two"])).await.unwrap();
    let shown = |changes: &Changes| -> Vec<String> {
        changes.rows.iter().map(|row| format!("{} {}", row.conversation, row.end)).collect()
    };
    let whole = store.changes(start, 10).await.unwrap();
    assert_eq!(shown(&whole), ["b 700", "d 1", "a 2"]);
    assert_eq!(whole.rows[0].row.status, Status::PendingTools);
    let (mut seen, mut after, mut more) = (Vec::new(), start, true);
    while more {
        let changes = store.changes(after, 1).await.unwrap();
        seen.extend(shown(&changes));
        (after, more) = (changes.position, changes.more);
    }
    assert_eq!(seen, shown(&whole));
    assert_eq!(after, whole.position);
    // From before everything, and from another store's future: everything.
    for after in [ListPosition(0), ListPosition(u64::MAX)] {
        assert_eq!(shown(&store.changes(after, 10).await.unwrap()), ["c 1", "b 700", "d 1", "a 2"]);
    }
}

// X21, K22: the state of a turn is a stored fact; nobody parses a journal for it.
pub async fn a_list_shows_the_last_commits_row(store: Store) {
    let lease = lease(&store, "a").await;
    let waiting = Status::WaitingForInput { tool: "a \"tool\"".into() };
    let rows = [
        StatusRow { title: "first".into(), status: Status::PendingTools, ..StatusRow::default() },
        StatusRow {
            title: "first".into(),
            status: waiting,
            wants: Wants::Person,
            broke: Some(BreakReason::ApiError),
            ..StatusRow::default()
        },
        StatusRow {
            title: "second ä\0".into(),
            workspace: "/elsewhere".into(),
            turns: u32::MAX,
            status: Status::Idle,
            wants: Wants::NotBefore(Timestamp(8)),
            broke: Some(BreakReason::Interrupted),
            waiting: 3,
            touched: Timestamp(9),
            shelf: Shelf::Archived,
        },
    ];
    for (place, status) in (0_u64..).zip(rows) {
        let next = Batch { status: status.clone(), ..batch(2 * place, &["x", "not json"]) };
        store.append(&lease, next).await.unwrap();
        let listing = store.list(Page::first(1)).await.unwrap();
        assert_eq!(listing.rows[0].row, status);
        assert_eq!(listing.rows[0].end, Seq(2 * place + 2));
        let found = store.status(&conversation("a")).await.unwrap();
        assert_eq!(found.as_ref(), listing.rows.first());
    }
}

pub async fn a_list_names_the_holder_while_there_is_one(store: Store) {
    begin(&store, "a", &["one"]).await;
    begin(&store, "b", &["one"]).await;
    let lease = store.lease(&conversation("a"), holder(42)).await.unwrap();
    let listing = store.list(Page::first(2)).await.unwrap();
    let holders: Vec<_> = listing.rows.into_iter().map(|row| row.holder).collect();
    assert_eq!(holders, [None, Some(holder(42))]);
    drop(lease);
    let row = store.status(&conversation("a")).await.unwrap().unwrap();
    assert_eq!(row.holder, None);
}

pub async fn finding_goes_by_prefix(store: Store) {
    for name in ["abc", "abd", "ab", "b%", "b_", "é", "AB"] {
        begin(&store, name, &["one"]).await;
    }
    let find = |prefix: &'static str, limit| {
        let store = store.clone();
        async move {
            let found = store.find(prefix, limit).await.unwrap();
            found.iter().map(ConversationId::as_str).collect::<Vec<_>>().join(" ")
        }
    };
    assert_eq!(find("ab", 10).await, "ab abc abd");
    assert_eq!(find("ab", 2).await, "ab abc");
    assert_eq!(find("abd", 10).await, "abd");
    assert_eq!(find("b%", 10).await, "b%");
    assert_eq!(find("b_", 10).await, "b_");
    assert_eq!(find("é", 10).await, "é");
    assert_eq!(find("x", 10).await, "");
    assert_eq!(find("", 3).await, "AB ab abc");
    assert_eq!(find("ab", 0).await, "");
}
