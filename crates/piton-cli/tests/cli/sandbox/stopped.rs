//! Supervisors that somebody stops from outside: they go on, and what they are for holds.

use std::fs;
use std::time::{Duration, Instant};

use piton_core::event::Outcome;
use piton_tools::sandbox::When;
use piton_tools::supervise::{KeptState, Shelf, Why};
use piton_tools::{Finished, Tool as _};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{CALL, Cell};

/// How long anything here may take. Without being woken it takes for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// The parent of a process that is there, from what the kernel says of it.
pub(super) fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// The supervisors of the command that has written its number, inner one first.
async fn supervisors(cell: &Cell) -> [Pid; 2] {
    let until = Instant::now() + PATIENCE;
    loop {
        // wait: for a command in another process.
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert!(Instant::now() < until, "it does not begin");
        let number = fs::read_to_string(cell.work("pid")).unwrap_or_default();
        if let Ok(pid) = number.trim().parse() {
            let inner = parent(pid).unwrap();
            return [inner, parent(inner).unwrap()].map(|pid| Pid::from_raw(pid).unwrap());
        }
    }
}

async fn run(cell: &Cell, timeout_s: u64) -> Finished {
    let command = "echo $$ > new && mv new pid && sleep 1000";
    let arguments = json!({ "command": command, "timeout_s": timeout_s, "wait_s": 60 });
    let arguments = arguments.as_object().unwrap().clone();
    let handle = cell.tool.prepare(&cell.site, CALL, &arguments).await.unwrap().handle;
    cell.tool.run(cell.job(arguments, handle)).await
}

#[tokio::test]
async fn a_time_is_up_although_the_supervisors_were_stopped() {
    for which in [&[0][..], &[1], &[0, 1]] {
        let cell = Cell::new(When::Unapproved);
        let stopping = async {
            let supervisors = supervisors(&cell).await;
            for number in which {
                kill_process(supervisors[*number], Signal::STOP).unwrap();
            }
        };
        let (finished, ()) = tokio::join!(run(&cell, 2), stopping);
        assert_eq!(finished.outcome, Outcome::Failed, "{which:?}: {}", finished.text);
        assert!(finished.text.contains("[stopped after 2 s"), "{which:?}: {}", finished.text);
    }
}

#[tokio::test]
async fn a_person_stops_a_command_although_the_supervisors_were_stopped() {
    let cell = Cell::new(When::Unapproved);
    let killing = async {
        for supervisor in supervisors(&cell).await {
            kill_process(supervisor, Signal::STOP).unwrap();
        }
        // As `piton kill` does, in a process of its own.
        let shelf = Shelf::new(cell.outside.join("calls"));
        let stopping = tokio::task::spawn_blocking(move || {
            let kept = shelf.all().into_iter().next().unwrap();
            shelf.stop(&kept.name, Why::Person).unwrap()
        });
        stopping.await.unwrap()
    };
    let (finished, state) = tokio::join!(run(&cell, 600), killing);
    assert!(matches!(state, KeptState::Ended(_)), "{state:?}");
    assert_eq!(finished.outcome, Outcome::Cancelled, "{}", finished.text);
}
