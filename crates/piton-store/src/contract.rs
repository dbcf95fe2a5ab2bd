//! What every store promises, as tests. A store passes them all by one line:
//!
//! ```text
//! piton_store::contract_tests!(|| async { (journal, guard) });
//! ```
//!
//! A store that several processes or machines share passes [`several`](several) as well:
//!
//! ```text
//! piton_store::several_handles_tests!(|| async { ([journal, another], guard) });
//! ```
//!
//! Nothing here sleeps or looks at a clock: a test that needs luck proves nothing.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test suite that lives outside of `cfg(test)`, because other crates run it too"
)]

pub mod append;
pub mod blob;
mod fixture;
pub mod lease;
pub mod letter;
pub mod list;
pub mod read;
pub mod several;
pub mod wake;

pub use self::fixture::{Store, batch, begin, bodies, conversation, holder, lease, row, texts};

/// Makes one test of every promise. Takes an async closure that makes an empty store, together with
/// a guard that must live as long as the store.
#[macro_export]
macro_rules! contract_tests {
    ($make:expr) => {
        $crate::contract_tests!($make =>
            append::an_append_gives_entries_their_places_and_reads_back,
            append::an_append_at_the_wrong_place_is_refused_and_leaves_nothing,
            append::a_batch_is_appended_whole_or_not_at_all,
            append::an_empty_batch_is_refused,
            append::an_entry_may_be_as_large_as_the_limit_and_no_larger,
            append::bodies_keep_every_character,
            append::relaxed_and_synced_commits_follow_each_other,
            append::many_conversations_grow_at_the_same_time,
            append::racing_writers_of_one_lease_never_overwrite,
            append::the_outcome_of_a_commit_is_known_by_its_name,
            append::an_append_that_nobody_waits_for_has_an_outcome,
            lease::a_released_lease_is_free_when_that_returns,
            lease::a_second_lease_is_refused_and_names_the_holder,
            lease::a_dropped_lease_is_free_again,
            lease::leases_of_different_conversations_do_not_meet,
            lease::names_that_look_like_paths_are_names,
            lease::a_later_lease_that_wrote_fences_an_earlier_one,
            lease::of_many_that_ask_at_once_one_gets_the_lease,
            lease::asking_who_holds_it_never_refuses_a_writer,
            read::reading_goes_page_by_page,
            read::long_journals_read_alike_at_every_length,
            read::an_unknown_conversation_is_an_error,
            read::a_reader_sees_a_prefix_while_a_writer_writes,
            read::waiting_returns_at_once_when_there_is_more,
            read::waiting_wakes_up_everybody_who_waits,
            wake::a_letter_wakes_the_one_it_is_for,
            wake::a_letter_that_lies_there_needs_no_waiting,
            wake::letters_between_two_waits_are_not_missed,
            wake::anything_appended_anywhere_wakes_the_list,
            wake::a_position_of_another_store_is_answered_at_once,
            letter::letters_lie_in_the_order_of_their_arrival_until_they_are_taken,
            letter::a_letter_belongs_to_one_conversation,
            letter::a_letter_that_is_too_large_or_misnamed_is_refused,
            letter::only_so_many_letters_are_read_at_once,
            list::a_list_is_ordered_by_touch_and_paged,
            list::no_row_is_lost_while_rows_move,
            list::a_list_is_filtered,
            list::changes_name_every_conversation_that_changed_once,
            list::a_list_shows_the_last_commits_row,
            list::a_list_names_the_holder_while_there_is_one,
            list::finding_goes_by_prefix,
            blob::a_blob_reads_back_and_is_kept_once,
            blob::a_blob_that_comes_in_pieces_is_the_same_blob,
            blob::an_unknown_blob_is_an_error,
            blob::a_blob_larger_than_the_limit_is_refused,
        );
    };
    ($make:expr => $($group:ident::$name:ident,)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                let make = $make;
                let (store, _alive) = make().await;
                $crate::contract::$group::$name(std::sync::Arc::new(store)).await;
            }
        )*
    };
}

/// Makes one test of every promise about several handles. Takes an async closure that makes two
/// handles on the same empty journals, together with a guard that must live as long as they.
#[macro_export]
macro_rules! several_handles_tests {
    ($make:expr) => {
        $crate::several_handles_tests!($make =>
            a_place_that_was_left_is_taken_over_by_the_other,
            a_late_writer_is_fenced_whatever_place_it_guesses,
            the_heir_learns_what_became_of_a_commit,
            the_other_handle_wakes_readers_and_holders,
            two_appends_to_one_journal_share_a_commit,
            letters_of_several_senders_keep_their_order_of_arrival,
        );
    };
    ($make:expr => $($name:ident,)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                let make = $make;
                let ([one, two], _alive) = make().await;
                let pair: $crate::contract::several::Pair =
                    [std::sync::Arc::new(one), std::sync::Arc::new(two)];
                $crate::contract::several::$name(pair).await;
            }
        )*
    };
}
