//! Where attempts are made: a workspace, all that lies outside it, and a user who works there.

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

use super::row::Row;

/// Who is nobody in particular.
const NOBODY: u32 = 65534;
/// Where programs of a system are.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Who works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum User {
    /// Whoever runs the test.
    Own,
    /// An ordinary user, who only root can become.
    Nobody,
}

/// A place with everything that attempts are about.
pub(super) struct Arena {
    directory: TempDir,
    user: User,
    words: BTreeMap<&'static str, String>,
    outside: Option<Outside>,
}

/// What there is outside: others who run, listen and share.
struct Outside {
    running: Vec<Child>,
    _terminal: OwnedFd,
    _tcp: TcpListener,
    _udp: UdpSocket,
    _sockets: (UnixListener, UnixListener, UnixDatagram),
}

impl Arena {
    pub(super) fn new(user: User) -> Self {
        // Not in the temporary directory, where every command may write.
        let directory =
            tempfile::Builder::new().prefix("piton-table-").tempdir_in("/var/tmp").unwrap();
        let mut arena = Self { directory, user, words: BTreeMap::new(), outside: None };
        for name in ["work/rows", "home", "me/.ssh", "out", "base", "bin", "sockets"] {
            fs::create_dir_all(arena.path(name)).unwrap();
        }
        for (name, text) in [
            ("me/.bashrc", "# mine\n"),
            ("sockets/tmux.conf", "set -g exit-empty off\n"),
            (
                "me/.gitconfig",
                "[user]\n\tname = a\n\temail = a@example.invalid\n[safe]\n\tdirectory = *\n",
            ),
            ("me/.ssh/id", "canary of a key\n"),
            ("me/.ssh/authorized_keys", "# mine\n"),
        ] {
            fs::write(arena.path(name), text).unwrap();
        }
        fs::copy(env!("CARGO_BIN_EXE_piton"), arena.path("bin/piton")).unwrap();
        arena.compile();
        arena.give();
        arena.name();
        arena.invite();
        arena
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Gives everything to the user.
    fn give(&self) {
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(self.directory.path(), 0o755);
        if self.user == User::Nobody {
            give(self.directory.path());
            let roots = self.path("bin/roots");
            fs::copy(self.path("bin/attack"), &roots).unwrap();
            mode(&roots, 0o4755);
        }
    }

    fn compile(&self) {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/sandbox/table");
        for (source, program, flags) in [
            ("attack.c", "bin/attack", &[][..]),
            ("plugin.c", "bin/plugin.so", &["-shared", "-fPIC"]),
        ] {
            let mut compiler = Command::new("cc");
            compiler.args(["-O1", "-w", "-o"]).arg(self.path(program)).args(flags);
            let compiled = compiler.arg(sources.join(source)).output().unwrap();
            assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        }
    }

    /// Fills in what all attempts name.
    fn name(&mut self) {
        for (word, place) in [
            ("A", "bin/attack"),
            ("P", "bin/plugin.so"),
            ("ROOTS", "bin/roots"),
            ("BASE", "base"),
            ("OUT", "out"),
            ("ME", "me"),
            ("HOME", "home"),
            ("TMUX", "sockets/tmux"),
            ("AGENTS", "sockets/agent"),
            ("SOCK", "sockets/named"),
        ] {
            let place = self.path(place).display().to_string();
            self.words.insert(word, place);
        }
        let agent = format!("$(cat {})", self.path("agent").display());
        self.words.insert("AGENT", agent);
    }

    /// Starts what there is outside.
    fn invite(&mut self) {
        let mut target = self.command("sleep");
        let target = target.arg("1000").env("CANARY", "x").process_group(0).spawn().unwrap();
        let pid = target.id();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        keep_letters(udp.try_clone().unwrap(), self.path("letters"));
        let named = UnixListener::bind(self.path("sockets/named")).unwrap();
        let letters = UnixDatagram::bind(self.path("sockets/named.letters")).unwrap();
        let abstracted = SocketAddr::from_abstract_name(format!("piton-table-{pid}")).unwrap();
        let abstracted = UnixListener::bind_addr(&abstracted).unwrap();
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let pts = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        if self.user == User::Nobody {
            give(&self.path("sockets"));
            chown(&pts, Some(NOBODY), None).unwrap();
        }
        let mut running = vec![target];
        for (program, words) in [
            ("tmux", format!("-D -f {0}.conf -S {0}", self.word("TMUX"))),
            ("ssh-agent", format!("-D -a {}", self.word("AGENTS"))),
        ] {
            let mut command = self.command(program);
            command.args(words.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
            running.extend(command.spawn());
        }
        let (ports, numbers) = ([tcp.local_addr(), udp.local_addr()], [pid.to_string(), pts]);
        let ports = ports.map(|address| address.unwrap().port().to_string());
        self.words.extend(["TCP", "UDP"].into_iter().zip(ports));
        self.words.extend(["T", "PTS"].into_iter().zip(numbers));
        let sockets = (named, abstracted, letters);
        self.outside =
            Some(Outside { running, _terminal: terminal, _tcp: tcp, _udp: udp, _sockets: sockets });
        let shared = self.line("{A} make_shared / {T}").output().unwrap();
        let shared = String::from_utf8(shared.stdout).unwrap();
        let shared: Vec<_> = shared.split_whitespace().map(ToOwned::to_owned).collect();
        self.words.extend(["SHM", "SHM2", "MSG", "SEM"].into_iter().zip(shared));
    }

    fn word(&self, word: &str) -> &str {
        &self.words[word]
    }

    /// A text with all its words filled in.
    pub(super) fn filled(&self, text: &str) -> String {
        let fill = |text: String, (word, place): (&&str, &String)| {
            text.replace(&format!("{{{word}}}"), place)
        };
        self.words.iter().fold(text.to_owned(), fill)
    }

    /// The same for an attempt, which has a number.
    pub(super) fn filled_for(&self, number: usize, text: &str) -> String {
        let text = text.replace("{O}", &self.out(number).display().to_string());
        let inside = self.path(&format!("work/rows/{number}/w"));
        self.filled(&text.replace("{W}", &inside.display().to_string()))
    }

    /// Writes a file of the user's own.
    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        if self.user == User::Nobody {
            chown(self.path(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// The directory outside that belongs to an attempt.
    pub(super) fn out(&self, number: usize) -> PathBuf {
        self.path(&format!("out/{number}"))
    }

    /// A program that the user starts, outside.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = match self.user {
            User::Own => Command::new(program),
            User::Nobody => {
                let mut command = Command::new("setpriv");
                let nobody = NOBODY.to_string();
                let words = [&format!("--reuid={nobody}"), &format!("--regid={nobody}")];
                command.args(words).args(["--clear-groups", program]);
                command
            }
        };
        let own = |name: &str, below: &str| {
            let known = std::env::var_os(name).map(PathBuf::from);
            known.unwrap_or_else(|| {
                PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(below)
            })
        };
        let (cargo, rustup) = (own("CARGO_HOME", ".cargo"), own("RUSTUP_HOME", ".rustup"));
        command.env_clear().current_dir(self.path("work")).stdin(Stdio::null());
        command.env("PATH", format!("{PATH}:{}", cargo.join("bin").display()));
        command.env("CARGO_HOME", cargo).env("RUSTUP_HOME", rustup);
        command.env("HOME", self.path("me")).env("PITON_HOME", self.path("home"));
        command.env("MY_API_KEY", "canary").env("SSH_AUTH_SOCK", self.path("sockets/agent"));
        command.env("PITON_NO_INPUT", "1").env("SHELL", "/bin/sh").env("LANG", "C.UTF-8");
        command
    }

    /// A line of the shell that the user starts, outside.
    pub(super) fn line(&self, line: &str) -> Command {
        let mut command = self.command("sh");
        command.args(["-c", &self.filled(line)]);
        command
    }

    /// Makes the place of every attempt.
    pub(super) fn prepare(&self, rows: &[Row]) {
        let mut script = String::from(
            "set -e\nmkdir -p {BASE}; cd {BASE}; git init -q --template=; echo a > a; git add a; git commit -qm x\n\
             echo aa > a; git commit -qam y; cd ../work; git init -q --template= .\n",
        );
        for (number, row) in rows.iter().enumerate() {
            let lines = "mkdir -p {O}/dir {W}; echo outside > {O}/file\nprintf '#!/bin/sh\\necho x > {O}/new\\n' > {W}/x\n\
                         chmod 755 {W}/x\n(PREPARE)\ncat > {W}/../run <<'END'\nCOMMAND\nEND\n";
            let prepare = if row.prepare.is_empty() { "true" } else { row.prepare };
            let lines = lines.replace("PREPARE", prepare).replace("COMMAND", row.command);
            script.push_str(&self.filled_for(number, &lines));
        }
        self.write("prepare", &self.filled(&script));
        let made = self.command("sh").arg(self.path("prepare")).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    /// Runs piton. Its own number is in the file `agent`; whoever starts it has left the file `left` open.
    pub(super) fn piton(&self, words: &[&str]) -> Output {
        let mut command = self.line("echo $$ > ../agent; exec 9>> ../left; exec \"$@\"");
        command.arg("sh").arg(self.path("bin/piton")).args(words);
        command.output().unwrap()
    }

    /// Whether the process that attempts are about still goes about its business.
    pub(super) fn target_is_well(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.word("T"))).unwrap_or_default();
        stat.contains(") S ")
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let drop_all = "{A} drop_shared / {T}; ipcrm -m {SHM} -q {MSG} -s {SEM}; ipcrm -m {SHM2}; \
                        tmux -S {TMUX} kill-server";
        self.line(drop_all).output().unwrap();
        for mut child in self.outside.take().into_iter().flat_map(|it| it.running) {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

fn give(directory: &Path) {
    chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            give(&entry.path());
        } else {
            chown(entry.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
}

/// Everything there is below a directory that an attempt could have changed.
pub(crate) fn picture(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(directory) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        let Ok(it) = path.symlink_metadata() else { continue };
        let (content, length) = if it.is_file() {
            (fs::read(&path).unwrap_or_default(), it.len())
        } else {
            (
                fs::read_link(&path)
                    .map(|to| to.into_os_string().into_encoded_bytes())
                    .unwrap_or_default(),
                0,
            )
        };
        found.push(format!(
            "{} {:o} {} {} {length} {}.{} {}",
            path.display(),
            it.mode(),
            it.uid(),
            it.nlink(),
            it.mtime(),
            it.mtime_nsec(),
            String::from_utf8_lossy(&content),
        ));
        if it.is_dir() {
            found.extend(picture(&path));
        }
    }
    found.sort();
    found
}

/// Writes down what arrives.
fn keep_letters(socket: UdpSocket, file: PathBuf) {
    std::thread::spawn(move || {
        let mut letter = [0; 64];
        while let Ok(length) = socket.recv(&mut letter) {
            let mut kept = fs::read(&file).unwrap_or_default();
            kept.extend(&letter[..length]);
            // The place may be gone by now.
            fs::write(&file, kept).ok();
        }
    });
}
