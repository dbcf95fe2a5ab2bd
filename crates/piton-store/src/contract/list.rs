//! Lists: order, pages, rows, holders, prefixes.

use piton_core::id::{ConversationId, Seq, Timestamp};
use piton_core::view::Status;

use super::{Store, batch, begin, conversation, holder, lease, row};
use crate::{Batch, Page, StatusRow, Wants};

async fn touched(store: &Store, name: &str, moment: u64) {
    let lease = lease(store, name).await;
    let status = row(Status::Idle, moment);
    store.append(&lease, Batch { status, ..batch(0, &["one"]) }).await.unwrap();
}

async fn names(store: &Store, skip: usize, limit: usize) -> (String, usize) {
    let listing = store.list(Page { skip, limit }).await.unwrap();
    let names: Vec<_> = listing.rows.iter().map(|row| row.conversation.as_str()).collect();
    (names.join(" "), listing.total)
}

pub async fn a_list_is_ordered_by_touch_and_paged(store: Store) {
    assert_eq!(names(&store, 0, 10).await, (String::new(), 0));
    for (name, moment) in [("b", 20), ("d", 40), ("a", 10), ("c", 30), ("e", 40)] {
        touched(&store, name, moment).await;
    }
    // Of two that were touched at the same moment the newer conversation comes first.
    assert_eq!(names(&store, 0, usize::MAX).await, ("e d c b a".to_owned(), 5));
    assert_eq!(names(&store, 1, 2).await, ("d c".to_owned(), 5));
    assert_eq!(names(&store, 4, 2).await, ("a".to_owned(), 5));
    assert_eq!(names(&store, 5, 2).await, (String::new(), 5));
    assert_eq!(names(&store, 0, 0).await, (String::new(), 5));

    let lease = lease(&store, "a").await;
    let status = row(Status::Idle, 50);
    store.append(&lease, Batch { status, ..batch(1, &["two"]) }).await.unwrap();
    assert_eq!(names(&store, 0, 2).await, ("a e".to_owned(), 5));
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
            ..StatusRow::default()
        },
        StatusRow {
            title: "second ä\0".into(),
            workspace: "/elsewhere".into(),
            turns: u32::MAX,
            status: Status::Idle,
            wants: Wants::NotBefore(Timestamp(8)),
            touched: Timestamp(9),
        },
    ];
    for (place, status) in (0_u64..).zip(rows) {
        let next = Batch { status: status.clone(), ..batch(2 * place, &["x", "not json"]) };
        store.append(&lease, next).await.unwrap();
        let listing = store.list(Page { skip: 0, limit: 1 }).await.unwrap();
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
    let listing = store.list(Page { skip: 0, limit: 2 }).await.unwrap();
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
