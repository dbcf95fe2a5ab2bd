//! Files in messages: kept beside the journal, sent from there, refused before anything is written.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use piton::model::{AnswerStream, Model, OneModel};
use piton::{Engine, FileLeftOut, NewMessage, OnIncomplete, Session, SessionError};
use piton_core::attachment::FILES_BYTES_MAX;
use piton_core::event::{Effort, ModelRef, UserPart};
use piton_core::id::{ConversationId, Digest};
use piton_core::outcome::Ending;
use piton_core::state::Config;
use piton_core::transcript::Transcript;
use piton_sim::script::{Script, ScriptedModel};
use piton_store::{Journal, MemoryJournal};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot much of a picture";

/// A model that keeps what it is sent, and takes no PDF while it is picky.
#[derive(Debug)]
struct Looker {
    seen: Mutex<Vec<Transcript>>,
    picky: AtomicBool,
    script: ScriptedModel,
}

impl Model for Looker {
    fn ask(&self, transcript: &Transcript) -> AnswerStream {
        self.seen.lock().unwrap().push(transcript.clone());
        self.script.ask(transcript)
    }

    fn refusal(&self, media_type: &str, _bytes: u64) -> Option<String> {
        let picky = self.picky.load(Ordering::Relaxed);
        (picky && media_type == "application/pdf").then(|| "takes no PDF documents".into())
    }
}

struct Stage {
    journal: Arc<MemoryJournal>,
    looker: Arc<Looker>,
    id: ConversationId,
}

impl Stage {
    fn new(script: &str) -> Self {
        let script = ScriptedModel::new(Script::parse(script).unwrap());
        let looker =
            Arc::new(Looker { seen: Mutex::default(), picky: AtomicBool::new(true), script });
        Self { journal: Arc::default(), looker, id: ConversationId::new("files") }
    }

    /// A new process on the same journal.
    fn engine(&self) -> Engine {
        Engine::builder(self.journal.clone(), Arc::new(OneModel(self.looker.clone()))).build()
    }

    async fn create(&self) -> Session {
        let mut session = self.engine().create_as(self.id.clone(), Path::new("/")).await.unwrap();
        let model = ModelRef { provider: "script".into(), model: "one".into() };
        session.configure(&Config { model: Some(model), ..Config::default() });
        session
    }

    fn seen(&self) -> Vec<Transcript> {
        self.looker.seen.lock().unwrap().clone()
    }
}

async fn send(session: &mut Session, parts: Vec<UserPart>) -> Result<Ending, SessionError> {
    session.send(NewMessage { id: None, parts }, OnIncomplete::Ask).await
}

fn files(transcript: &Transcript) -> Vec<Option<Vec<u8>>> {
    let wanted = transcript.files_wanted();
    wanted.map(|blob| transcript.files().get(&blob.digest).map(<[u8]>::to_vec)).collect()
}

const SAYS_HI: &str = r#"{"steps":[{"say":"hi"}]}"#;
const FAILS_THEN_SAYS_HI: &str = r#"{"steps":[{"say":"hi","faults":[{"kind":{"fail":"auth"}}]}]}"#;

// C15, C16: a message of files alone; the original is not needed again
#[tokio::test]
async fn a_file_is_sent_from_the_store() {
    let stage = Stage::new(FAILS_THEN_SAYS_HI);
    let mut session = stage.create().await;
    let part = session.attach("a.png", PNG).await.unwrap();
    let UserPart::File { name, media_type, blob } = &part else { panic!("{part:?}") };
    assert_eq!((name.as_str(), media_type.as_str()), ("a.png", "image/png"));
    assert_eq!(blob.bytes, PNG.len() as u64);
    let ending = send(&mut session, vec![part.clone()]).await.unwrap();
    assert!(matches!(ending, Ending::Error(_)), "{ending:?}");
    let message = session.state().turns[0].said().next().unwrap().message.clone();
    drop(session);
    // Another process tries again.
    let mut session = stage.engine().open(&stage.id).await.unwrap();
    assert_eq!(session.retry(&message).await.unwrap(), Ending::Done);
    let seen = stage.seen();
    assert_eq!(files(&seen[0]), [Some(PNG.to_vec())]);
    assert_eq!(files(&seen[1]), files(&seen[0]), "the next try has the same bytes");
    assert_eq!(seen[1].messages(), seen[0].messages());
    assert_eq!(seen[0].conversation(), Some(&stage.id), "prompt caches go by conversation");
}

// C16, C17, C18
#[tokio::test]
async fn a_text_becomes_part_of_the_message() {
    let stage = Stage::new(SAYS_HI);
    let session = stage.create().await;
    let part = session.attach("a\nMIME: x.md", b"one\r\ntwo").await.unwrap();
    let expected = UserPart::InlinedFile {
        name: "a_MIME: x.md".into(),
        media_type: "text/markdown".into(),
        text: "one\r\ntwo".into(),
    };
    assert_eq!(part, expected);
    let long = session.attach("long.txt", "x".repeat(200_001).as_bytes()).await.unwrap();
    assert!(matches!(long, UserPart::File { media_type, .. } if media_type == "text/plain"));
}

// C21
#[tokio::test]
async fn a_file_that_the_model_does_not_take_is_refused_before_anything_is_written() {
    let stage = Stage::new(SAYS_HI);
    let mut session = stage.create().await;
    let pdf = session.attach("a.pdf", b"%PDF-1.7 \xff").await.unwrap();
    let refused = send(&mut session, vec![UserPart::text("see"), pdf.clone()]).await.unwrap_err();
    let said = "a.pdf cannot be sent: script/one takes no PDF documents";
    assert_eq!(refused.to_string(), said);
    assert_eq!(stage.journal.status(&stage.id).await.unwrap(), None);
}

#[tokio::test]
async fn what_another_model_was_sent_is_known_to_be_left_out() {
    let stage = Stage::new(SAYS_HI);
    stage.looker.picky.store(false, Ordering::Relaxed);
    let mut session = stage.create().await;
    let (png, pdf) = (session.attach("a.png", PNG).await, session.attach("b.pdf", b"%PDF-1").await);
    let ending = send(&mut session, vec![png.unwrap(), pdf.unwrap()]).await.unwrap();
    assert_eq!((ending, session.files_left_out()), (Ending::Done, vec![]));
    stage.looker.picky.store(true, Ordering::Relaxed);
    let left = FileLeftOut { name: "b.pdf".into(), why: "takes no PDF documents".into() };
    assert_eq!(session.files_left_out(), [left]);
}

#[tokio::test]
async fn files_that_no_request_can_carry_are_refused() {
    let stage = Stage::new(SAYS_HI);
    let mut session = stage.create().await;
    let mut large = PNG.to_vec();
    large.resize(usize::try_from(FILES_BYTES_MAX).unwrap() / 2 + 1, 0);
    let part = session.attach("a.png", &large).await.unwrap();
    let refused = send(&mut session, vec![part.clone(), part]).await.unwrap_err();
    assert_eq!(refused.to_string(), "the files have 14.7 MB, and one message takes 14.6 MB");
}

#[tokio::test]
async fn a_lost_file_does_not_stop_the_conversation() {
    let stage = Stage::new(SAYS_HI);
    let mut session = stage.create().await;
    let UserPart::File { name, media_type, mut blob } = session.attach("a.png", PNG).await.unwrap()
    else {
        panic!()
    };
    blob.digest = Digest::new("0".repeat(64));
    let lost = UserPart::File { name, media_type, blob };
    assert_eq!(send(&mut session, vec![lost]).await.unwrap(), Ending::Done);
    assert_eq!(files(&stage.seen()[0]), [None]);
}

// J37
#[tokio::test]
async fn another_process_asks_with_the_recorded_effort() {
    let stage = Stage::new(FAILS_THEN_SAYS_HI);
    let mut session = stage.create().await;
    let config =
        Config { effort: Effort::High, answer_tokens_max: 77, ..session.state().config.clone() };
    session.configure(&config);
    send(&mut session, vec![UserPart::text("go")]).await.unwrap();
    drop(session);
    let mut session = stage.engine().open(&stage.id).await.unwrap();
    assert_eq!(session.resume().await.unwrap(), Ending::Done);
    for transcript in stage.seen() {
        assert_eq!((transcript.effort(), transcript.answer_tokens_max()), (Effort::High, 77));
    }
}
