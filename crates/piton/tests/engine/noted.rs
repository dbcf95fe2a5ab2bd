//! What a log is told of failures and retries.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use piton::OnIncomplete::Ask;
use piton_core::id::MessageId;
use piton_core::outcome::Ending;
use tracing_subscriber::fmt::MakeWriter;

use crate::stage::{Stage, named};

const FAILS: &str = r#"{"steps":[{"say":"Whole.","faults":[
    {"kind":{"fail":"overloaded"},"retry_after_ms":4000},{"kind":{"fail":"auth"}}]},{"say":"Next."}]}"#;

/// Records of a test.
#[derive(Clone, Default)]
struct Records(Arc<Mutex<Vec<u8>>>);

impl Records {
    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl Write for Records {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(record);
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Records {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

// C26
#[tokio::test(start_paused = true)]
async fn every_retry_is_recorded_with_its_reason_and_wait() {
    let records = Records::default();
    let log = tracing_subscriber::fmt().with_writer(records.clone()).without_time();
    let log = log.with_max_level(tracing::Level::WARN).finish();
    let _recording = tracing::subscriber::set_default(log);
    let stage = Stage::new(FAILS);
    stage.create().await.send(named("m1", "first"), Ask).await.unwrap();
    let lines = records.lines();
    let [again, given_up, broke] = lines.as_slice() else { panic!("{lines:?}") };
    let id = stage.conversation();
    for part in [
        "the request failed, and is sent again".to_owned(),
        format!("conversation={id} turn=1 step=1 model=\"script"),
        "tries=1 wait=\"".to_owned(),
        "class=Overloaded reason=\"".to_owned(),
    ] {
        assert!(again.contains(&part), "{part}: {again}");
    }
    let wait = again.split("wait=\"").nth(1).unwrap().split(' ').next().unwrap();
    assert!((4..=5).contains(&wait.parse::<u32>().unwrap()), "{again}");
    assert!(
        given_up.contains("is not sent again") && given_up.contains("class=Auth"),
        "{given_up}"
    );
    assert!(broke.contains("the turn broke off"), "{broke}");
    assert!(!lines.concat().contains("first"), "what was said is nobody's business");
    let ending = stage.open().await.retry(&MessageId::new("m1")).await.unwrap();
    assert_eq!(ending, Ending::Done);
    let lines = records.lines();
    let [.., retried, over] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(over.contains("message_id=m1 attempt=2 end=Completed"), "{over}");
    for part in ["a message is tried again", "message_id=m1 attempt=2 model=\"script", "files=0"] {
        assert!(retried.contains(part), "{part}: {retried}");
    }
}
