//! The message of a query on its way into the journal, and the unsent ones of earlier queries.
//!
//! The draft is there before the store is opened and before anything is waited for, and goes only
//! when the message was seen as an entry. In between it is told from a sent one by the journal.

use std::fs;
use std::io;
use std::path::PathBuf;

use piton::chance::{Chance as _, SystemChance};
use piton::{Conversation, NewMessage};
use piton_agent::Settings;
use piton_core::attachment::FILES_BYTES_MAX;
use piton_core::id::{CommandId, ConversationId, MessageId};
use piton_core::view::{ItemView, View};
use piton_store::Journal;

use super::attach::{self, Attached, Empty};
use super::input::{Input, Piped};
use super::opened::Opened;
use super::stage::Stage;
use super::stdin::{self, without_sign};
use crate::drafts::{BadDraft, DRAFTS_MAX, Draft, Drafts, only_unsent, seen_from};
use crate::flags::Query;
use crate::output::Output;
use crate::report::{Fault, LetterFault};

/// What is to be said, and what was not.
#[derive(Debug)]
pub(super) struct Mail {
    /// Nowhere, if nothing may be recorded.
    drafts: Option<Drafts>,
    /// Whether a kept message is wanted; which one is known when the store is open.
    fetch: bool,
    /// The conversation that the fetched message was meant for.
    meant: Option<ConversationId>,
    text: Option<String>,
    /// The directory that names of files count from.
    here: PathBuf,
    /// Files that go along, with their whole paths.
    paths: Vec<PathBuf>,
    /// What standard input brings beside them, until it is read.
    piped: Piped,
    /// Those of them that are not read yet.
    unread: Vec<PathBuf>,
    /// What is in those that are, and what standard input brought.
    files: Vec<Attached>,
    draft: Option<Draft>,
    /// Unsent messages of earlier queries, the newest first, until they are told.
    others: Vec<Draft>,
    /// Whether a person hears of those.
    tells: bool,
    /// Kept messages that cannot be read, until they are told.
    bad: Vec<BadDraft>,
    /// Why there is no draft.
    trouble: Option<io::Error>,
    /// Whether it is unknown if the journal has the message.
    leaving: bool,
    /// Its name, once it was left for another process.
    left: Option<MessageId>,
    /// Its name, once it was sent here.
    sent: Option<MessageId>,
}

impl Mail {
    /// Makes the text safe before anything else is done.
    pub(super) fn new(
        Input { text, piped, listings, written }: Input,
        query: &Query,
        settings: &Settings,
    ) -> Result<Self, Fault> {
        let here = settings.directory()?.to_owned();
        let places = settings.found_from_here()?;
        let drafts = (!query.no_persist).then(|| Drafts::new(&settings.home, &places));
        let found = drafts.as_ref().map(Drafts::look).unwrap_or_default();
        let named = without_sign(&query.files);
        let paths: Vec<_> = named.iter().map(|path| here.join(path)).collect();
        let mut mail = Self {
            drafts,
            fetch: query.draft,
            meant: None,
            text: None,
            here,
            unread: paths.clone(),
            paths,
            piped,
            files: listings,
            draft: None,
            others: found.unsent,
            tells: true,
            bad: found.bad,
            trouble: None,
            leaving: false,
            left: None,
            sent: None,
        };
        if let Some(text) = text {
            if !query.no_persist {
                settings.make_home()?;
            }
            mail.write(text);
        }
        // The text is in a draft, or was not to be recorded.
        let is_safe = mail.draft.is_some() || query.no_persist;
        if let Some(written) = written.filter(|_| is_safe) {
            fs::remove_file(written).unwrap_or_default();
        }
        Ok(mail)
    }

    /// A person has heard of the others, or need not.
    pub(super) fn tells_nothing(&mut self) {
        self.tells = false;
    }

    /// Takes another text instead.
    pub(super) fn write(&mut self, text: String) {
        let old = self.draft.take();
        // With other files it is another message, unless the first ones could not go: then it is
        // the same, put right.
        let piped = self.piped != Piped::Nothing;
        let same = self.others.iter().position(|draft| {
            let files = if piped { draft.named_files() } else { draft.files.clone() };
            draft.text == text && (files == self.paths || !attach::could_go(&draft.files))
        });
        if let Some(drafts) = &self.drafts {
            let kept = match same {
                // Typed once more because it did not go through: one message, not two.
                Some(place) => Ok(self.others.remove(place)),
                None => drafts.keep(new_name(), &text),
            };
            let named = kept.and_then(|mut draft| {
                // What standard input brought the last time stays until this time's is there.
                if !piped || draft.named_files() != self.paths {
                    draft.name_files(&self.paths)?;
                }
                Ok(draft)
            });
            match named {
                Ok(draft) => self.draft = Some(draft),
                Err(error) => self.trouble = Some(error),
            }
        }
        self.text = Some(text);
        if let Some(old) = old {
            old.replaced(&self.paths);
        }
    }

    /// Takes the next text, now that the message before it has arrived with its files.
    pub(super) fn write_next(&mut self, text: String) {
        self.paths.clear();
        self.unread.clear();
        self.files.clear();
        self.write(text);
    }

    /// Finds out which drafts have arrived after all, and tells of the others.
    pub(super) async fn sort(
        &mut self,
        journal: &dyn Journal,
        output: &mut Output,
    ) -> Result<(), Fault> {
        if let Some(error) = self.trouble.take() {
            output.talk(&format!("warning: the message cannot be kept as a draft: {error}"));
        }
        // Told once: one that cannot be set aside would be told for ever, so it is not told at all.
        for bad in self.bad.drain(..).filter_map(|bad| bad.set_aside().ok()) {
            let (path, why, name) = (bad.path.display(), &bad.why, bad.name());
            output
                .talk(&format!("warning: a kept message cannot be read ({why}); it is now {path}"));
            output.talk(&format!(
                "hint: save what you can of it; to forget it: piton draft drop {name}"
            ));
        }
        if let Some(draft) = &mut self.draft
            && draft.has_arrived(journal).await?
        {
            let renamed = draft.say_again(new_name());
            renamed.map_err(Fault::Draft)?;
        }
        let mut unsent = only_unsent(std::mem::take(&mut self.others), journal).await?;
        if std::mem::take(&mut self.fetch) {
            if unsent.is_empty() {
                return Err(Fault::NoDraft);
            }
            let draft = unsent.remove(0);
            self.meant.clone_from(&draft.conversation);
            self.text = Some(draft.text.clone());
            // Files that are named now take the place of those that were named then. What was piped in
            // then was named by nobody, and stays.
            let named = draft.named_files();
            let is_replaced = !self.paths.is_empty() || !self.files.is_empty();
            let stay = |path: &&PathBuf| !(is_replaced && named.contains(path));
            let stay: Vec<_> = draft.files.iter().filter(stay).cloned().collect();
            self.unread.extend(stay.iter().cloned());
            self.paths.extend(stay);
            self.draft = Some(draft);
        }
        if self.tells { tell(unsent, journal, output).await } else { Ok(()) }
    }

    /// The conversation that a kept message was meant for, if one was fetched.
    pub(super) fn meant(&self) -> Option<&ConversationId> {
        self.meant.as_ref()
    }

    /// Remembers the conversation, so that the message finds it again if it is not sent now.
    pub(super) fn meant_for(&mut self, conversation: &ConversationId) {
        if let Some(draft) = &mut self.draft {
            // Without it the message is kept all the same.
            draft.meant_for(conversation).unwrap_or_default();
        }
    }

    /// Whether there is something to say.
    pub(super) fn has_content(&self) -> bool {
        let has_files = !self.paths.is_empty() || !self.files.is_empty();
        self.text.is_some() || has_files || self.piped != Piped::Nothing
    }

    /// Reads the files that go along, unless that is done.
    pub(super) async fn read_files(&mut self, stage: &mut Stage<'_>) -> Result<(), Fault> {
        if self.unread.is_empty() && self.piped == Piped::Nothing {
            return Ok(());
        }
        for pipe in attach::pipes(&self.unread) {
            let pipe = seen_from(&self.here, pipe).display();
            stage.output.talk(&format!("Reading {pipe} to its end: it is a pipe."));
        }
        let (paths, here) = (self.unread.clone(), self.here.clone());
        // Elsewhere, because a pipe may keep us waiting.
        let reading = tokio::task::spawn_blocking(move || attach::read(&paths, &here));
        let files = tokio::select! {
            biased;
            _ = stage.signals.next() => return Err(Fault::Interrupted),
            read = reading => read.map_err(|_| Fault::Interrupted)??,
        };
        self.files.extend(files);
        self.unread.clear();
        let piped = match &self.piped {
            Piped::Nothing => None,
            Piped::Now(content) => Attached::piped(content.clone(), Empty::Ignored)?,
            Piped::Later(empty) => {
                let empty = *empty;
                Attached::piped(stdin::read(FILES_BYTES_MAX, stage).await?, empty)?
            }
        };
        self.piped = Piped::Nothing;
        if let (Some(piped), Some(draft)) = (&piped, &mut self.draft) {
            match draft.keep_part(piped.name(), piped.content()) {
                Ok(kept) => self.paths.push(kept),
                Err(error) => self.trouble = Some(error),
            }
        }
        self.files.extend(piped);
        if let Some(draft) = &mut self.draft
            && let Err(error) = draft.name_files(&self.paths)
        {
            self.trouble = Some(error);
        }
        Ok(())
    }

    /// The message, now that it leaves for a conversation. Its files are durable from here on.
    pub(super) async fn leave(&mut self, opened: &Opened) -> Result<NewMessage, Fault> {
        let files = attach::keep(opened, &self.files).await?;
        self.leaving = true;
        let mut message = NewMessage::text(self.text.clone().unwrap_or_default());
        message.parts.extend(files);
        let id = match &mut self.draft {
            Some(draft) => {
                draft.goes_to(opened.conversation.id());
                draft.message.clone()
            }
            // One that was left for another process keeps its name: it is the same message.
            None => self.left.take().unwrap_or_else(new_name),
        };
        self.sent = Some(id.clone());
        Ok(NewMessage { id: Some(id), ..message })
    }

    /// The name of the message that was sent here last.
    pub(super) fn sent(&self) -> Option<&MessageId> {
        self.sent.as_ref()
    }

    /// The message is durable.
    pub(super) fn arrived(&mut self) {
        self.leaving = false;
        if let Some(draft) = self.draft.take() {
            draft.remove();
        }
    }

    /// The message, now that it is left for the process that works on a conversation. One that was
    /// refused there before is another one now.
    pub(super) async fn leave_for(
        &mut self,
        conversation: &Conversation,
    ) -> Result<(MessageId, NewMessage), Fault> {
        let files = attach::keep_for(conversation, &self.files).await.map_err(LetterFault::from)?;
        let mut message = NewMessage::text(self.text.clone().unwrap_or_default());
        message.parts.extend(files);
        let id = match &mut self.draft {
            Some(draft) => {
                let name = CommandId::new(draft.message.as_str());
                let verdict = conversation.verdict(&name).await.map_err(LetterFault::from)?;
                if verdict.is_some() {
                    draft.say_again(new_name()).map_err(Fault::Draft)?;
                }
                draft.goes_to(conversation.id());
                draft.message.clone()
            }
            None => new_name(),
        };
        self.leaving = true;
        self.left = Some(id.clone());
        Ok((id.clone(), NewMessage { id: Some(id), ..message }))
    }

    /// The name of the message, if it was left for another process.
    pub(super) fn left(&self) -> Option<&MessageId> {
        self.left.as_ref()
    }

    /// The message was refused, and can be sent once more.
    pub(super) fn come_back(&mut self) {
        self.leaving = false;
    }

    /// Looks for the message in a view.
    pub(super) fn see_in(&mut self, view: &View) {
        if self.draft.as_ref().is_some_and(|draft| view_has(view, &draft.message))
            && let Some(draft) = self.draft.take()
        {
            draft.remove();
        }
    }

    /// Whether the message was not sent and can be sent later.
    pub(super) fn is_kept(&self) -> bool {
        self.draft.is_some() && !self.leaving
    }
}

/// A message name that nobody else has.
fn new_name() -> MessageId {
    MessageId::from_chance(SystemChance.next())
}

/// Whether a view shows a message.
pub(super) fn view_has(view: &View, wanted: &MessageId) -> bool {
    let said = view.turns.iter().flat_map(|turn| &turn.items).any(|item| match item {
        ItemView::Message(message) => message.id == *wanted,
        ItemView::Step(_) | _ => false,
    });
    said || view.queue.iter().any(|queued| queued.id == *wanted)
}

async fn tell(
    mut unsent: Vec<Draft>,
    journal: &dyn Journal,
    output: &mut Output,
) -> Result<(), Fault> {
    while DRAFTS_MAX < unsent.len() {
        if let Some(oldest) = unsent.pop() {
            output.talk(&format!(
                "More than {DRAFTS_MAX} messages are unsent, so this one goes: {}",
                oldest.on_one_line()
            ));
            oldest.remove();
        }
    }
    let Some(newest) = unsent.first() else { return Ok(()) };
    let line = newest.on_one_line();
    match unsent.len() {
        1 => output.talk(&format!("An unsent message is kept: {line}")),
        count => output.talk(&format!("{count} unsent messages are kept, the newest: {line}")),
    }
    let whither = match &newest.conversation {
        Some(id) if journal.status(id).await?.is_some() => format!(" to conversation {id}"),
        Some(_) | None => String::new(),
    };
    output.talk(&format!("hint: to send it{whither}: piton query --draft"));
    output.talk(&format!("hint: to forget it: piton draft drop {}", newest.message));
    Ok(())
}
