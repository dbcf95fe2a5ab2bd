//! A person on a terminal: reads until something is there, then types.

use std::io::{Read as _, Write as _};
use std::process::Child;
use std::sync::{Arc, mpsc};
use std::time::Instant;

use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};

use crate::world::{DEADLINE, World};

pub(crate) struct Person {
    pty: Arc<Pty>,
    child: Child,
    pieces: mpsc::Receiver<Vec<u8>>,
    /// Everything that was shown.
    screen: Vec<u8>,
    /// How much of it was read.
    read: usize,
    /// How wide the window was at first.
    columns: u16,
}

impl Person {
    /// Starts the binary on a terminal of its own.
    pub(crate) fn starts(world: &World, args: &[&str]) -> Self {
        Self::starts_command(world.command(args))
    }

    /// The same with a command that is ready to run.
    pub(crate) fn starts_command(command: std::process::Command) -> Self {
        Self::starts_sized(command, (24, 80), &[])
    }

    /// The same on a terminal of so many rows and columns, with some variables set.
    pub(crate) fn starts_on(
        world: &World,
        args: &[&str],
        size: (u16, u16),
        variables: &[(&str, &str)],
    ) -> Self {
        Self::starts_sized(world.command(args), size, variables)
    }

    pub(crate) fn starts_sized(
        mut command: std::process::Command,
        (rows, columns): (u16, u16),
        variables: &[(&str, &str)],
    ) -> Self {
        let (pty, pts) = open().unwrap();
        pty.resize(Size::new(rows, columns)).unwrap();
        command.env_remove("PITON_NO_INPUT").env_remove("NO_COLOR").env("TERM", "xterm");
        // A request for a title would be one too many for whoever counts them.
        if !command.get_envs().any(|(name, _)| name == "PITON_TITLES") {
            command.env("PITON_TITLES", "first-words");
        }
        command.envs(variables.iter().copied());
        let child = Command::from(command).spawn(pts).unwrap();
        let pty = Arc::new(pty);
        let (sender, pieces) = mpsc::channel();
        let from = pty.clone();
        // Ends with the child: nobody else has the other end of the terminal.
        std::thread::spawn(move || {
            let mut piece = vec![0; 4096];
            while let Ok(bytes @ 1..) = (&*from).read(&mut piece) {
                sender.send(piece[..bytes].to_vec()).unwrap_or_default();
            }
        });
        Self { pty, child, pieces, screen: Vec::new(), read: 0, columns }
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How wide the window was at first.
    pub(crate) fn columns(&self) -> u16 {
        self.columns
    }

    /// Changes the size of the window.
    pub(crate) fn resizes(&mut self, rows: u16, columns: u16) {
        self.pty.resize(Size::new(rows, columns)).unwrap();
    }

    /// Reads on until a text is there. Where it has a blank, a line may be broken on the screen.
    pub(crate) fn sees(&mut self, text: &str) -> &mut Self {
        let begun = Instant::now();
        loop {
            let ahead = &self.screen[self.read..];
            if let Some(end) = (0..ahead.len()).find_map(|at| end_of(text, ahead, at)) {
                self.read += end;
                return self;
            }
            let left = DEADLINE.saturating_sub(begun.elapsed());
            match self.pieces.recv_timeout(left) {
                Ok(piece) => self.screen.extend(piece),
                Err(error) => panic!("{error}: no {text:?} in {}", self.screen()),
            }
        }
    }

    /// Types something; a line ends with a return.
    pub(crate) fn types(&mut self, keys: &str) -> &mut Self {
        (&*self.pty).write_all(keys.as_bytes()).unwrap();
        self
    }

    /// Reads to the end; gives the exit code and everything that was shown.
    pub(crate) fn leaves(mut self) -> (i32, String) {
        let begun = Instant::now();
        loop {
            match self.pieces.recv_timeout(DEADLINE.saturating_sub(begun.elapsed())) {
                Ok(piece) => self.screen.extend(piece),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("it goes on: {}", self.screen()),
            }
        }
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        (code, self.screen())
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen).into_owned()
    }
}

/// Where a text ends that begins at a place of what was shown, if it does.
fn end_of(text: &str, shown: &[u8], mut at: usize) -> Option<usize> {
    for letter in text.bytes() {
        let here = &shown[at..];
        if letter == b' ' && here.starts_with(b"\r\n") {
            at += 2 + here[2..].iter().take_while(|it| **it == b' ').count();
        } else if here.first() == Some(&letter) {
            at += 1;
        } else {
            return None;
        }
    }
    Some(at)
}

impl Drop for Person {
    fn drop(&mut self) {
        // A test that fails must not leave a process behind that waits for a person.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}
