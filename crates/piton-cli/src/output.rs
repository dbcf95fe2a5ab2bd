//! The standard streams: data to one, talk to the other. No other file touches them.

mod area;
mod pipe;
mod summons;

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use piton_agent::Notify;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use self::area::{Area, Shown};
use self::pipe::{End, Pipe};
use self::summons::Summons;
use crate::render::fold::fold;
use crate::render::lines::Line;
use crate::render::markdown::Stream;
use crate::render::paint::{Page, Painted, Style};
use crate::render::visible::{visible, visible_json};
use crate::screen;

/// How often it is said what is waited for, where nothing can be drawn anew.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// In which form data goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The standard streams.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "two of each stream")]
pub(crate) struct Output {
    data: Data,
    data_pipe: Pipe,
    talk_pipe: Pipe,
    /// Whether data goes to a terminal.
    on_terminal: bool,
    /// Whether data goes out as it is, with all that a terminal would obey.
    raw: bool,
    /// Whether talk goes to a terminal.
    talk_on_terminal: bool,
    /// What terminals are written to with.
    style: Style,
    /// The answer that is coming, where it is laid out. None if answers are held back.
    answer: Option<Stream>,
    /// Data that is kept back, to be shown page by page.
    held: Option<String>,
    /// Whether the last data ended a line.
    line_ended: bool,
    area: Area,
    /// What a person has typed of a line, while a turn runs.
    typed: String,
    /// When something was said last.
    said: Instant,
    /// How a person is called who looks elsewhere.
    summons: Summons,
}

/// What has become of standard output. Whatever it is, the turn goes on.
#[derive(Debug)]
enum Data {
    Open,
    /// Nobody is reading any more, and nobody misses anything.
    Closed,
    /// Somebody is, and something is missing.
    Lost(io::Error),
}

impl Data {
    /// What became of it by a write.
    fn note(&mut self, written: io::Result<()>) {
        match written {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => *self = Self::Closed,
            Err(error) => *self = Self::Lost(error),
        }
    }
}

impl Default for Output {
    fn default() -> Self {
        Self {
            data: Data::Open,
            data_pipe: Pipe::new(End::Data),
            talk_pipe: Pipe::new(End::Talk),
            on_terminal: io::stdout().is_terminal(),
            raw: false,
            talk_on_terminal: io::stderr().is_terminal(),
            style: screen::style(),
            answer: Some(Stream::default()),
            held: None,
            line_ended: true,
            area: Area::default(),
            typed: String::new(),
            said: Instant::now(),
            summons: Summons::default(),
        }
    }
}

impl Output {
    /// From now on data goes out as it is.
    pub(crate) fn leave_raw(&mut self) {
        self.raw = true;
    }

    /// Writes text that is data. A pipe may lead to a terminal, so nothing that one would obey goes into it.
    pub(crate) fn data(&mut self, text: &str) {
        if self.raw { self.put(text) } else { self.put(&visible(text)) }
    }

    /// Writes a whole document, which is as it is everywhere but on a terminal: it will be a file.
    pub(crate) fn document(&mut self, text: &str) {
        if self.on_terminal { self.data(text) } else { self.put(text) }
    }

    /// Writes lines of data for people: on a terminal broken between words, else as they are.
    pub(crate) fn lines(&mut self, text: &str) {
        match self.page() {
            Some(page) => self.put(&format!("{}\n", fold(&visible(text), page.columns, 0))),
            None => self.data(&format!("{text}\n")),
        }
    }

    /// Writes a piece of an answer: laid out for whoever watches, and else as it is.
    pub(crate) fn answer(&mut self, text: &str) {
        match (self.page(), &mut self.answer) {
            (_, None) => {}
            (Some(page), Some(answer)) => {
                let painted = answer.push(text, page);
                self.put(painted.as_str());
            }
            (None, Some(_)) => self.data(text),
        }
    }

    /// From now on answers are not shown as they come.
    pub(crate) fn hold_answers(&mut self) {
        self.answer = None;
    }

    /// Nothing more comes of the answer: what there is of its last block is shown.
    pub(crate) fn end_answer(&mut self) {
        if let (Some(page), Some(answer)) = (self.page(), &mut self.answer) {
            let painted = answer.finish(page);
            self.put(painted.as_str());
        }
    }

    /// Writes data that is laid out for the page.
    pub(crate) fn paint(&mut self, painted: &Painted) {
        self.put(painted.as_str());
    }

    /// Writes text for people: on a terminal in lines that fit.
    pub(crate) fn page_of(&mut self, text: &str) {
        match self.page() {
            Some(page) => self.put(&fold(text, page.columns, 0)),
            None => self.put(text),
        }
    }

    /// What data is laid out for, if a person watches it.
    pub(crate) fn page(&self) -> Option<Page> {
        let page = || Page { columns: screen::size(io::stdout()).columns, style: self.style };
        (self.on_terminal && !self.raw).then(page)
    }

    /// What talk is laid out for, if it goes to a terminal.
    pub(crate) fn talk_page(&self) -> Option<Page> {
        self.talk_on_terminal.then(|| Page { columns: talk_columns(), style: self.style })
    }

    /// Says something that is laid out for the page.
    pub(crate) fn talk_painted(&mut self, painted: &Painted) {
        self.rest();
        self.said = Instant::now();
        self.say(painted.as_str());
    }

    /// Writes a line of data for programs.
    pub(crate) fn json(&mut self, line: &Line<'_>) {
        self.json_text(&line.text());
    }

    /// Writes a line of JSON that somebody else has made.
    pub(crate) fn json_text(&mut self, json: &str) {
        self.put(&visible_json(&format!("{json}\n")));
    }

    /// Whether somebody watches the data come.
    pub(crate) fn is_watched(&self) -> bool {
        self.on_terminal
    }

    /// Why some of the data could not be written, if that is so. Waits until all that was said is read.
    pub(crate) fn lost(&mut self) -> Option<&io::Error> {
        let written = self.data_pipe.settle();
        self.data.note(written);
        self.talk_pipe.settle().unwrap_or_default();
        match &self.data {
            Data::Lost(error) => Some(error),
            Data::Open | Data::Closed => None,
        }
    }

    /// Whether nobody reads the data any more, or something of it is lost: more would be in vain.
    pub(crate) fn is_over(&self) -> bool {
        let stdout = io::stdout();
        // Asked for nothing, the kernel tells of errors alone.
        let mut ends = [PollFd::new(&stdout, PollFlags::empty())];
        let polled = poll(&mut ends, Some(&Timespec::default())).is_ok();
        let is_gone = polled && ends.iter().any(|end| end.revents().contains(PollFlags::ERR));
        is_gone || !matches!(self.data, Data::Open)
    }

    /// Ends the line of data that was begun, if one was.
    pub(crate) fn end_line(&mut self) {
        self.end_answer();
        if !self.line_ended {
            self.data("\n");
        }
    }

    /// Says something to the person: on a terminal in lines that fit.
    pub(crate) fn talk(&mut self, text: &str) {
        self.rest();
        self.said = Instant::now();
        let text = visible(text);
        let said = match self.talk_page() {
            Some(page) => fold(&text, page.columns, 0),
            None => text.into_owned(),
        };
        self.say(&format!("{said}\n"));
    }

    /// Whether a line can be drawn anew.
    pub(crate) fn can_spin(&self) -> bool {
        self.talk_on_terminal && self.style == Style::Coloured && self.line_ended
    }

    /// Whether it is of use to say again and again what is waited for.
    pub(crate) fn can_tell(&self) -> bool {
        self.talk_on_terminal && self.line_ended
    }

    /// Shows what is waited for, and lines below it: drawn anew where that is possible, and else said from
    /// time to time.
    pub(crate) fn tell_waiting(&mut self, label: &str, below: &[String]) {
        if self.can_spin() {
            let (columns, anew) = (talk_columns(), screen::lays_out_anew());
            let shown = Shown { label, below, typed: &self.typed };
            let drawn = self.area.draw(shown, columns, anew);
            self.say(&drawn);
        } else if self.can_tell() && SAY_EVERY <= self.said.elapsed() {
            let last = below.last().map(|line| format!(": {line}")).unwrap_or_default();
            self.talk(&format!("  {label}{last}"));
        }
    }

    /// Shows the last words of an answer that came and cannot be laid out yet, and below them that nothing
    /// has come for long, if that is so. Whether nothing else is to be told.
    pub(crate) fn tell_answer(&mut self, quiet: Option<String>) -> bool {
        let words = self.answer.as_ref().map(Stream::waiting).unwrap_or_default().trim();
        if words.is_empty() {
            return false;
        }
        if !self.can_spin() {
            return quiet.is_none();
        }
        let (columns, anew) = (talk_columns(), screen::lays_out_anew());
        let label = area::end(words, columns);
        let below: Vec<String> = quiet.into_iter().collect();
        let shown = Shown { label, below: &below, typed: &self.typed };
        let drawn = self.area.draw(shown, columns, anew);
        self.say(&drawn);
        true
    }

    /// Shows what is typed of a line, below everything else.
    pub(crate) fn tell_typed(&mut self, typed: &str) {
        typed.clone_into(&mut self.typed);
        if self.can_spin() {
            let (columns, anew) = (talk_columns(), screen::lays_out_anew());
            let drawn = self.area.draw_typed(&self.typed, columns, anew);
            self.say(&drawn);
        }
    }

    /// From now on nothing is waited for: beside what is typed nothing is drawn anew.
    pub(crate) fn wait_for_nothing(&mut self) {
        self.area.forget();
    }

    /// Takes away what is drawn anew.
    pub(crate) fn rest(&mut self) {
        if !self.area.is_drawn() {
            return;
        }
        let gone = self.area.take_away(talk_columns(), screen::lays_out_anew());
        self.say(&gone);
    }

    /// From now on nobody is there until somebody types. After so long, they are called.
    pub(crate) fn begin_waiting(&mut self, (notify, after): (Notify, Duration)) {
        self.summons = Summons::new(notify, after);
    }

    /// Somebody typed, so they are there.
    pub(crate) fn heard(&mut self) {
        self.summons.heard();
    }

    /// Calls whoever looks elsewhere, if they have waited long.
    pub(crate) fn call_back(&mut self, why: &str) {
        if self.talk_on_terminal && !screen::is_dumb() {
            let called = self.summons.call(why, screen::may_notify());
            self.say(&called);
        }
    }

    /// From now on data is kept back.
    pub(crate) fn hold(&mut self) {
        self.held = Some(String::new());
    }

    /// What was kept back; data goes out again from now on.
    pub(crate) fn release(&mut self) -> String {
        self.held.take().unwrap_or_default()
    }

    /// Writes what was kept back, as it was laid out.
    pub(crate) fn put_released(&mut self, text: &str) {
        self.put(text);
    }

    /// How many lines the page of data has, if a person watches it.
    pub(crate) fn page_rows(&self) -> Option<usize> {
        self.on_terminal.then(|| screen::size(io::stdout()).rows)
    }

    fn put(&mut self, text: &str) {
        if let Some(held) = &mut self.held {
            held.push_str(text);
            return;
        }
        let Some(last) = text.chars().next_back() else { return };
        self.rest();
        self.line_ended = last == '\n';
        if matches!(self.data, Data::Open) {
            let written = self.data_pipe.write(text.as_bytes());
            self.data.note(written);
        }
    }

    /// Talk that nobody can hear is lost, and that is all.
    fn say(&mut self, text: &str) {
        self.talk_pipe.write(text.as_bytes()).unwrap_or_default();
    }
}

/// How wide the terminal of the talk is now.
fn talk_columns() -> usize {
    screen::size(io::stderr()).columns
}
