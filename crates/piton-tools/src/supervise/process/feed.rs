//! Feeds a command: the texts in its mailbox go into the pipe that it reads, each byte once.
//!
//! Both supervisors hold the same open files. The texts lie in a file in memory, and the
//! kernel moves it from there into the pipe. In the same step it moves the position of that file, so
//! whichever supervisor dies, and when, the position says how much is in the pipe, and the other one goes on there.
//! Nothing here waits: a command that does not read is fed when it does.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{
    MemfdFlags, Mode, OFlags, SeekFrom, fcntl_setfl, memfd_create, open, seek, sendfile,
};
use rustix::io::Errno;
use rustix::pipe::{SpliceFlags, splice};

use super::terminal::{self, Copied};
use crate::fail;
use crate::supervise::record::input::{self, Line, Stream, Taken};
use crate::supervise::record::log::{self, Intent, Witness};

/// How long a test that makes a mistake on purpose does not notice it.
const MISTAKEN: Duration = Duration::from_secs(3);

/// The files of an input that stays open.
#[derive(Debug)]
pub(crate) struct Feed {
    /// The mailbox: the file `in`, with the texts for the command.
    pub(crate) mailbox: File,
    /// The same without its form. Its position is how much of it the pipe has had.
    pub(crate) stage: File,
    /// Where the command reads: a pipe, or its terminal.
    pub(crate) pipe: OwnedFd,
}

impl Feed {
    /// Makes them. The sender must keep none of them: the command reads to the end when nobody
    /// has the pipe any more.
    pub(crate) fn create(directory: &Path, kind: Kind) -> io::Result<Self> {
        let pipe = match kind {
            Kind::Pipe => {
                let (_, pipe): (PipeReader, PipeWriter) = io::pipe()?;
                fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
                pipe.into()
            }
            Kind::Terminal => terminal::create()?,
        };
        let stage = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
        Ok(Self { mailbox: input::create(directory)?, stage, pipe })
    }

    /// The other end of the pipe, for a process that is about to be started and inherits it.
    pub(crate) fn reader(&self) -> io::Result<OwnedFd> {
        let path = format!("/proc/self/fd/{}", self.pipe.as_raw_fd());
        Ok(open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
    }
}

/// What a command reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Pipe,
    Terminal,
}

impl Kind {
    /// Of a command that is fed.
    pub(crate) fn of(intent: &Intent) -> Self {
        if intent.terminal { Self::Terminal } else { Self::Pipe }
    }
}

/// A command that is being fed.
#[derive(Debug)]
pub(crate) struct Feeding {
    feed: Feed,
    kind: Kind,
    /// Whether nobody has the other end of the terminal open: it is looked at now and then.
    hung_up: bool,
    /// The texts so far, and how much of them is recorded as taken.
    stream: Stream,
    /// How much of the file is read.
    read: u64,
    /// How many of its texts lie ready.
    laid_out: usize,
    /// How much of the stream the pipe has had.
    position: u64,
    /// Whether the last attempt failed: then room in the pipe is nothing to wait for.
    failed: bool,
}

/// How it stands with an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fed {
    /// More may come.
    Open,
    /// It is over: the end of its input was written, or the command has closed it.
    Over,
}

impl Feeding {
    /// From wherever the last one came to.
    pub(crate) fn new(feed: Feed, kind: Kind) -> Self {
        Self {
            feed,
            kind,
            hung_up: false,
            stream: Stream::default(),
            read: 0,
            laid_out: 0,
            position: 0,
            failed: false,
        }
    }

    /// What to listen at for more.
    pub(crate) fn mailbox(&self) -> BorrowedFd<'_> {
        self.feed.mailbox.as_fd()
    }

    /// The pipe, if something waits for room in it.
    pub(crate) fn full(&self) -> Option<BorrowedFd<'_>> {
        let waits = !self.failed && !self.hung_up && self.position < self.stream.length;
        waits.then(|| self.feed.pipe.as_fd())
    }

    /// The terminal, if the command may print to it.
    pub(crate) fn prints(&self) -> Option<BorrowedFd<'_>> {
        (self.kind == Kind::Terminal && !self.hung_up).then(|| self.feed.pipe.as_fd())
    }

    /// Copies what the command has printed to its terminal into `out`.
    pub(crate) fn copy(&mut self, out: &File) -> io::Result<Copied> {
        if self.kind == Kind::Pipe {
            return Ok(Copied::All);
        }
        let copied = terminal::copy(&self.feed.pipe, out)?;
        self.hung_up = copied == Copied::HungUp;
        Ok(copied)
    }

    /// Passes on what is in the mailbox and finds room, and writes down how much that is.
    pub(crate) fn tend(&mut self, witness: Witness) -> io::Result<Fed> {
        let fed = self.pass_on(witness);
        self.failed = fed.is_err();
        fed
    }

    fn pass_on(&mut self, witness: Witness) -> io::Result<Fed> {
        self.look()?;
        let is_broken = self.pour(witness)?;
        let is_over = is_broken || (self.stream.ended && self.position == self.stream.length);
        let taken = Taken { bytes: self.position, closed: is_over };
        if taken != self.stream.taken {
            fail::here(witness.point(["inner-fed", "outer-fed"]));
            log::append(&self.feed.mailbox, &Line::Taken(taken))?;
            self.stream.taken = taken;
        }
        Ok(if is_over { Fed::Over } else { Fed::Open })
    }

    /// Reads what is new in the file, and lays it out to be taken.
    fn look(&mut self) -> io::Result<()> {
        let length = self.feed.mailbox.metadata()?.len();
        if self.read < length {
            let bytes = log::read_from(&self.feed.mailbox, self.read, length)?;
            // A line whose end is not there yet is looked at again.
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.stream.add(bytes.get(..whole).unwrap_or_default());
            self.read += whole as u64;
        }
        // At its place in the stream: who does it again, or after another one, changes nothing.
        for placed in self.stream.texts.iter().skip(self.laid_out) {
            self.feed.stage.write_all_at(placed.text.body.as_bytes(), placed.from)?;
            self.laid_out += 1;
        }
        self.position = seek(&self.feed.stage, SeekFrom::Current(0))?;
        Ok(())
    }

    /// Lets the kernel move what has room. Says whether nobody reads any more.
    fn pour(&mut self, witness: Witness) -> io::Result<bool> {
        if witness == Witness::Inner && fail::wanted("noted-after-write") {
            // The mistake that the tests must notice.
            let from = self.position;
            let bytes = log::read_from(&self.feed.stage, from, self.stream.length)?;
            self.position += rustix::io::write(&self.feed.pipe, &bytes)? as u64;
            std::thread::sleep(MISTAKEN);
            seek(&self.feed.stage, SeekFrom::Start(self.position))?;
            return Ok(false);
        }
        while self.position < self.stream.length {
            let left = usize::try_from(self.stream.length - self.position).unwrap_or(usize::MAX);
            let Feed { stage, pipe, .. } = &self.feed;
            let moved = match self.kind {
                Kind::Pipe => splice(stage, None, pipe, None, left, SpliceFlags::NONBLOCK),
                Kind::Terminal => sendfile(pipe, stage, None, left),
            };
            match moved {
                Ok(0) | Err(Errno::AGAIN) => break,
                // Nobody has the terminal open now.
                Err(Errno::IO) if self.kind == Kind::Terminal => break,
                Ok(count) => self.position += count as u64,
                Err(Errno::INTR) => {}
                Err(Errno::PIPE) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
    use tempfile::TempDir;

    use super::*;
    use crate::supervise::record::input::Text;

    struct Scene {
        directory: TempDir,
        feed: Feed,
        kind: Kind,
        /// What the command has read.
        command: File,
    }

    impl Scene {
        fn new(kind: Kind) -> Self {
            let directory = TempDir::new().unwrap();
            let feed = Feed::create(directory.path(), kind).unwrap();
            let command = match kind {
                Kind::Pipe => File::from(feed.reader().unwrap()),
                Kind::Terminal => terminal::theirs(&feed.pipe).unwrap(),
            };
            if kind == Kind::Terminal {
                let mut modes = tcgetattr(&command).unwrap();
                modes.make_raw();
                tcsetattr(&command, OptionalActions::Now, &modes).unwrap();
            }
            fcntl_setfl(&command, OFlags::NONBLOCK).unwrap();
            Self { directory, feed, kind, command }
        }

        /// Another holder of the same files.
        fn holder(&self) -> Feeding {
            let Feed { mailbox, stage, pipe } = &self.feed;
            let feed = Feed {
                mailbox: mailbox.try_clone().unwrap(),
                stage: stage.try_clone().unwrap(),
                pipe: pipe.try_clone().unwrap(),
            };
            Feeding::new(feed, self.kind)
        }

        fn write(&self, key: &str, text: &str, end: bool) {
            let text = Text { key: key.into(), body: text.into(), end, printed: 0 };
            log::append(&input::open(self.directory.path()).unwrap(), &Line::Text(text)).unwrap();
        }

        fn read(&mut self) -> String {
            let mut bytes = vec![0; 100_000];
            let count = self.command.read(&mut bytes).unwrap_or(0);
            String::from_utf8(bytes[..count].to_vec()).unwrap()
        }
    }

    fn tend(feeding: &mut Feeding) -> Fed {
        feeding.tend(Witness::Inner).unwrap()
    }

    // Between any two steps the one who feeds dies, and the next one knows nothing but the files.
    #[test]
    fn every_byte_arrives_once_however_often_the_feeder_dies() {
        let mut scene = Scene::new(Kind::Pipe);
        let mut read = String::new();
        for (key, text) in [("a", "one\n"), ("b", "two\n"), ("c", ""), ("d", "three\n")] {
            scene.write(key, text, false);
            // Without a word on what it did.
            let mut first = scene.holder();
            first.look().unwrap();
            first.pour(Witness::Inner).unwrap();
            drop(first);
            assert_eq!(tend(&mut scene.holder()), Fed::Open);
            assert_eq!(tend(&mut scene.holder()), Fed::Open);
            read += &scene.read();
        }
        assert_eq!(read, "one\ntwo\nthree\n");
        assert_eq!(Stream::read(&scene.feed.mailbox).unwrap().taken.bytes, 14);
        scene.write("e", "", true);
        assert_eq!(tend(&mut scene.holder()), Fed::Over);
    }

    #[test]
    fn a_full_pipe_takes_the_rest_later_also_from_another_one() {
        takes_the_rest_later(Kind::Pipe, 60_000);
    }

    // A terminal takes less than it is offered, and the position tells how much that was.
    #[test]
    fn a_full_terminal_takes_the_rest_later_also_from_another_one() {
        takes_the_rest_later(Kind::Terminal, 10_000);
    }

    fn takes_the_rest_later(kind: Kind, lines: u32) {
        let mut scene = Scene::new(kind);
        let text: String =
            (0..lines).flat_map(|number| [number.to_string(), "\n".into()]).collect();
        scene.write("a", &text, true);
        let mut read = String::new();
        let mut holder = scene.holder();
        while tend(&mut holder) == Fed::Open {
            assert!(holder.full().is_some());
            read += &scene.read();
            holder = scene.holder();
        }
        while read.len() < text.len() {
            read += &scene.read();
        }
        assert!(read == text, "{} of {} bytes", read.len(), text.len());
    }

    #[test]
    fn what_is_half_written_waits_and_what_nobody_reads_is_over() {
        let mut scene = Scene::new(Kind::Pipe);
        let text = Text { key: "a".into(), body: "one\n".into(), end: false, printed: 0 };
        let line = log::encode(&Line::Text(text)).unwrap();
        let mut feeding = scene.holder();
        let mut mailbox: &File = &scene.feed.mailbox;
        for part in [&line[..9], &line[9..30]] {
            io::Write::write_all(&mut mailbox, part.as_bytes()).unwrap();
            assert_eq!(tend(&mut feeding), Fed::Open);
        }
        io::Write::write_all(&mut mailbox, &line.as_bytes()[30..]).unwrap();
        assert_eq!(tend(&mut feeding), Fed::Open);
        assert_eq!(scene.read(), "one\n");
        scene.write("b", "two\n", false);
        scene.command = File::open("/dev/null").unwrap();
        assert_eq!(tend(&mut feeding), Fed::Over);
        let taken = Stream::read(&scene.feed.mailbox).unwrap().taken;
        assert_eq!(taken, Taken { bytes: 4, closed: true });
    }
}
