//! Signs of life while a turn runs and nobody sees it: a log that stays silent looks like a process that hangs.

use std::future::pending;
use std::time::Duration;

use piton::clock::{Clock as _, SystemClock};
use tokio::time::{Instant, sleep_until};

use super::stage::Stage;
use super::watch::Watch;
use crate::output::Form;
use crate::render::age::lasting;
use crate::render::lines::Line;

/// When the next sign of life is due.
#[derive(Debug)]
pub(super) struct Heartbeat {
    every: Duration,
    begun: Instant,
    due: Instant,
}

impl Heartbeat {
    /// One every so many seconds; none with 0, and none where a person watches.
    pub(super) fn new(seconds: u64, stage: &Stage<'_>) -> Option<Self> {
        let is_seen = stage.form == Form::Text && stage.output.talk_page().is_some();
        if seconds == 0 || is_seen {
            return None;
        }
        // Longer than anybody waits; a clock has an end.
        let (every, begun) = (Duration::from_secs(seconds.min(u32::MAX.into())), Instant::now());
        Some(Self { every, begun, due: begun + every })
    }

    /// Waits until the next one is due.
    pub(super) async fn due(beat: &mut Option<Self>) {
        match beat {
            Some(Self { every, due, .. }) => {
                sleep_until(*due).await;
                *due += *every;
            }
            None => pending().await,
        }
    }

    /// Gives one.
    pub(super) fn tell(beat: Option<&Self>, watch: &Watch, stage: &mut Stage<'_>) {
        let Some(Self { begun, .. }) = beat else { return };
        let now = SystemClock.now();
        match stage.form {
            Form::Json => {
                let turn = watch.view().head.open.map_or(0, |turn| turn.0);
                stage.output.json(&Line::Heartbeat { turn, at: now.0 });
            }
            Form::Text => {
                let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
                let what = watch.waits_for(now).map(|what| format!(": {what}")).unwrap_or_default();
                stage.output.talk(&format!("[at work, {}{what}]", lasting(ms)));
            }
        }
    }
}
