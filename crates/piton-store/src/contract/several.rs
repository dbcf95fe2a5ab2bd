//! Several handles on the same journals, as several processes or machines have: takeover, late
//! writers, outcomes that another one asks for, wake-ups, order.

use piton_core::id::Seq;

use super::fixture::{Store, batch, begin, bodies, conversation, holder, lease};
use crate::{
    AppendError, Arrival, CommitName, CommitOutcome, Lease, LeaseError, Letter, ListPosition,
};

/// Letters that each of two handles leaves.
const LETTERS: usize = 10;

/// Two handles on the same journals.
pub type Pair = [Store; 2];

fn letter(id: &str) -> Letter {
    Letter { id: id.to_owned(), body: "x".to_owned() }
}

// J79, M17
pub async fn a_place_that_was_left_is_taken_over_by_the_other([one, two]: Pair) {
    let id = conversation("a");
    let held = one.lease(&id, holder(7)).await.unwrap();
    one.append(&held, batch(0, &["one"])).await.unwrap();
    let refused = two.lease(&id, holder(8)).await.unwrap_err();
    assert!(matches!(&refused, LeaseError::Held { holder: Some(h), .. } if *h == holder(7)));
    let row = two.status(&id).await.unwrap().unwrap();
    assert_eq!(row.holder, Some(holder(7)));
    let epoch = held.epoch();
    one.release(held).await.unwrap();
    // Released, not only dropped: free at once.
    let heir = two.lease(&id, holder(8)).await.unwrap();
    assert!(heir.epoch() > epoch);
    two.append(&heir, batch(1, &["two"])).await.unwrap();
    assert_eq!(bodies(&one, "a").await, ["one", "two"]);
}

// X17, J83: a lease that ran out while its holder slept.
pub async fn a_late_writer_is_fenced_whatever_place_it_guesses([one, two]: Pair) {
    let held = lease(&one, "a").await;
    one.append(&held, batch(0, &["one"])).await.unwrap();
    let late = Lease::new(conversation("a"), held.epoch(), Box::new(()));
    drop(held);
    let heir = lease(&two, "a").await;
    two.append(&heir, batch(1, &["two"])).await.unwrap();
    for place in 0..4 {
        let refused = one.append(&late, batch(place, &["late"])).await;
        assert!(matches!(refused, Err(AppendError::Fenced { .. })), "{refused:?}");
    }
    two.append(&heir, batch(2, &["three"])).await.unwrap();
    assert_eq!(bodies(&one, "a").await, ["one", "two", "three"]);
}

pub async fn the_heir_learns_what_became_of_a_commit([one, two]: Pair) {
    let held = lease(&one, "a").await;
    let (taken, never) = (batch(0, &["one", "two"]), CommitName::fresh());
    let name = taken.name.clone();
    one.append(&held, taken).await.unwrap();
    one.release(held).await.unwrap();
    let heir = lease(&two, "a").await;
    for place in 2..4 {
        let outcome = two.outcome(&conversation("a"), &name).await.unwrap();
        assert_eq!(outcome, CommitOutcome::Committed(Seq(2)));
        let outcome = two.outcome(&conversation("a"), &never).await.unwrap();
        assert_eq!(outcome, CommitOutcome::NotCommitted);
        two.append(&heir, batch(place, &["more"])).await.unwrap();
    }
}

pub async fn the_other_handle_wakes_readers_and_holders([one, two]: Pair) {
    begin(&one, "a", &["one"]).await;
    let id = conversation("a");
    let position = two.wait_list(ListPosition(0)).await.unwrap();
    let waiting = async {
        tokio::join!(
            two.wait_past(&id, Seq(1)),
            two.wait_letters(&id, Arrival(0)),
            two.wait_list(position),
        )
    };
    let working = async {
        let writer = lease(&one, "a").await;
        one.append(&writer, batch(1, &["two"])).await.unwrap();
        one.post(&id, letter("1")).await.unwrap();
    };
    let ((end, arrival, list), ()) = tokio::join!(waiting, working);
    assert_eq!(end.unwrap(), Seq(2));
    assert!(arrival.unwrap() > Arrival(0));
    assert!(list.unwrap() > position);
}

pub async fn two_appends_to_one_journal_share_a_commit([one, two]: Pair) {
    // A second lease makes a store that shares commits do so.
    let _other = lease(&one, "other").await;
    let writer = lease(&one, "a").await;
    let (first, second, stray) =
        (batch(0, &["one", "two"]), batch(2, &["three"]), batch(2, &["stray"]));
    let names = [&first, &second, &stray].map(|batch| batch.name.clone());
    let (first, second, stray) = tokio::join!(
        one.append(&writer, first),
        one.append(&writer, second),
        one.append(&writer, stray),
    );
    assert_eq!((first.unwrap(), second.unwrap()), (Seq(2), Seq(3)));
    assert!(matches!(stray, Err(AppendError::Conflict { actual: Seq(3), .. })), "{stray:?}");
    assert_eq!(bodies(&two, "a").await, ["one", "two", "three"]);
    let mut outcomes = Vec::new();
    for name in &names {
        outcomes.push(two.outcome(&conversation("a"), name).await.unwrap());
    }
    let committed = CommitOutcome::Committed;
    assert_eq!(outcomes, [committed(Seq(2)), committed(Seq(3)), CommitOutcome::NotCommitted]);
}

pub async fn letters_of_several_senders_keep_their_order_of_arrival(pair: Pair) {
    let id = conversation("a");
    let mut expected = Vec::new();
    let mut seen = Arrival(0);
    for number in 0..LETTERS {
        for (sender, store) in pair.iter().enumerate() {
            // Names that would sort the other way round.
            let name = format!("{:02}-{}", 99 - number, 9 - sender);
            store.post(&id, letter(&name)).await.unwrap();
            expected.push(name);
            let arrival = pair[1 - sender].wait_letters(&id, seen).await.unwrap();
            assert!(arrival > seen);
            seen = arrival;
        }
    }
    for store in &pair {
        let letters = store.letters(&id).await.unwrap();
        assert_eq!(letters.into_iter().map(|letter| letter.id).collect::<Vec<_>>(), expected);
    }
    pair[0].discard_letter(&id, &expected[0]).await.unwrap();
    assert_eq!(pair[1].letters(&id).await.unwrap()[0].id, expected[1]);
}
