"""A day's commands of a developer behind the sandbox; run by dev/day.

Every command is the real program, played in a turn of its own by a scripted model in the permission mode `auto`,
with settings as a person would write them. Servers are the script's own, each at a free port of 127.0.0.1: sshd,
`git http-backend`, an index of pip, a registry of npm, one of cargo, a proxy of go modules, and a stand-in for the
daemon of docker. A command that needs an opening is played without it first: with no settings at all, and with the
preset but without the host of the server. Both must fail, and the table has what their results tell to ask for.
Then it is played with the opening: it must do what it is for, and ask nothing. One command is also played by somebody
who has no rule: asked once, answered `always`, and not asked again.

`ssh` takes its directory from the list of users and not from HOME, so a wrapper in PATH tells it where HOME is.
"""

import base64
import contextlib
import getpass
import hashlib
import http.server
import io
import ipaddress
import json
import os
import re
import shutil
import socket
import socketserver
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.parse
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

PITON: str = os.path.abspath(sys.argv[1])
ROUNDS: int = int(sys.argv[2])
ONLY: list[str] = sys.argv[3].split(",") if sys.argv[3] else []
SHOWS: bool = sys.argv[4] == "output"
# Pairs of calls in a turn when time is taken.
PAIRS: int = 20
# How long a command may take, in seconds.
PATIENCE: int = 240
# How long what a command has left behind may take to end, in seconds.
LEAVING: int = 20
# How often in a row its directory must be found gone.
GONE: int = 15
# What is served everywhere: a package of this name and version, which says hello.
NAME, VERSION = "dayhello", "1.0.0"
GO_MODULE = f"example.org/{NAME}"
# Variables of the person who runs this that the programs may need; all others are left out.
KEPT = ("PATH", "USER", "LOGNAME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "TMPDIR")


class Missing(Exception):
    """A program is not there; says which."""


def need(*names: str) -> None:
    for name in names:
        if not shutil.which(name):
            raise Missing(f"no {name} here")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# Servers.


class Quiet(http.server.BaseHTTPRequestHandler):
    """Answers requests and logs nothing. `routes` has bodies by path; an answer says how long it is."""

    routes: dict[str, bytes] = {}
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        path = urllib.parse.unquote(self.path.split("?")[0])
        body = self.routes.get(path)
        if body is None:
            return self.answer(404, b"not found\n", "text/plain")
        kind = "application/json" if body[:1] == b"{" else "text/html" if body[:1] == b"<" else "text/plain"
        self.answer(200, body, kind)

    do_HEAD = do_GET


class Servers:
    """Servers in threads of their own, ended together."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.stack = stack

    def start(self, server: socketserver.BaseServer) -> None:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.stack.callback(server.server_close)
        self.stack.callback(server.shutdown)

    def http(self, handler: type[Quiet], host: str = "127.0.0.1") -> str:
        """Its address, as a grant names it."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        kind = type("Server", (http.server.ThreadingHTTPServer,), {"address_family": family, "daemon_threads": True})
        server = kind((host, 0), handler)
        self.start(server)
        return f"{host}:{server.server_address[1]}"

    def files(self, make: Callable[[str], dict[str, bytes]], host: str = "127.0.0.1") -> str:
        """A server whose bodies may speak of its own address."""
        handler = type("Files", (Quiet,), {})
        address = self.http(handler, host)
        handler.routes = make(f"http://{address}")
        return address


def git_over_http(repositories: Path, env: dict[str, str]) -> type[Quiet]:
    """What a web server does for git: it runs `git http-backend` for every request."""

    class Backend(Quiet):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                body = b""
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            backend = subprocess.run(
                ["git", "http-backend"], input=body, capture_output=True, cwd=repositories,
                env=env | {
                    "GIT_PROJECT_ROOT": str(repositories), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                    "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": "day",
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                },
            )
            head, _, rest = backend.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            status = int(fields.pop("Status", "200").split()[0])
            self.answer(status, rest, fields.get("Content-Type", "text/plain"))

        do_POST = do_GET

    return Backend


def start_sshd(place: Path, public_key: str, servers: Servers, stack: contextlib.ExitStack) -> tuple[str, str]:
    """A real sshd, one process for each connection, as inetd starts it: sshd itself takes no port 0. Returns its
    address and the line that knows it."""
    need("ssh", "ssh-keygen", "ssh-agent", "ssh-add")
    sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not sshd:
        raise Missing("no sshd here")
    # For root it wants an empty directory of its own, which the system's service would have made.
    if os.geteuid() == 0 and not os.path.isdir("/run/sshd"):
        os.mkdir("/run/sshd", 0o755)
        stack.callback(os.rmdir, "/run/sshd")
    keys = place / "host_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys], check=True)
    write(place / "authorized_keys", public_key)
    settings = write(place / "sshd_config", f"""HostKey {keys}
AuthorizedKeysFile {place}/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
""")
    # The log shows why a connection failed, when somebody looks for it.
    log = stack.enter_context(open(place / "sshd.log", "ab"))

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            subprocess.run(
                [sshd, "-i", "-e", "-f", settings], check=False,
                stdin=self.request, stdout=self.request, stderr=log, env={"PATH": os.environ["PATH"]},
            )

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Connection)
    server.daemon_threads = True
    servers.start(server)
    port = server.server_address[1]
    known = " ".join((place / "host_key.pub").read_text().split()[:2])
    return f"127.0.0.1:{port}", f"[127.0.0.1]:{port} {known}\n"


def start_agent(place: Path, key: Path, stack: contextlib.ExitStack) -> str:
    """An agent that has the key; its socket."""
    path = str(place / "agent.sock")
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.PIPE, text=True)
    stack.callback(agent.wait)
    stack.callback(agent.terminate)
    assert agent.stdout
    # It says where it is when it listens there.
    agent.stdout.readline()
    subprocess.run(
        ["ssh-add", "-q", key], env={"SSH_AUTH_SOCK": path, "PATH": os.environ["PATH"]}, check=True,
    )
    return path


# Packages that the servers hand out.


def tar_gz(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def zipped(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def pip_index(url: str) -> dict[str, bytes]:
    info = f"{NAME}-{VERSION}.dist-info"
    files = {
        f"{NAME}.py": "print('hello')\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: day\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    wheel, file = zipped(files), f"{NAME}-{VERSION}-py3-none-any.whl"
    digest = hashlib.sha256(wheel).hexdigest()
    page = f'<!DOCTYPE html><html><body><a href="/files/{file}#sha256={digest}">{file}</a></body></html>\n'
    return {f"/simple/{NAME}/": page.encode(), f"/files/{file}": wheel}


def npm_registry(url: str) -> dict[str, bytes]:
    package = {"name": NAME, "version": VERSION, "main": "index.js"}
    tarball = tar_gz({
        "package/package.json": json.dumps(package), "package/index.js": "console.log('hello');\n",
    })
    path = f"/{NAME}/-/{NAME}-{VERSION}.tgz"
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
    version = package | {"dist": {"tarball": url + path, "integrity": integrity}}
    packument = {"name": NAME, "dist-tags": {"latest": VERSION}, "versions": {VERSION: version}}
    return {f"/{NAME}": json.dumps(packument).encode(), path: tarball}


def cargo_registry(url: str) -> dict[str, bytes]:
    manifest = f'[package]\nname = "{NAME}"\nversion = "{VERSION}"\nedition = "2021"\n'
    crate = tar_gz({
        f"{NAME}-{VERSION}/Cargo.toml": manifest,
        f"{NAME}-{VERSION}/src/lib.rs": "pub fn hello() -> &'static str {\n    \"hello\"\n}\n",
    })
    line = {
        "name": NAME, "vers": VERSION, "deps": [], "features": {}, "yanked": False,
        "cksum": hashlib.sha256(crate).hexdigest(),
    }
    return {
        "/config.json": json.dumps({"dl": f"{url}/crates"}).encode(),
        f"/{NAME[:2]}/{NAME[2:4]}/{NAME}": json.dumps(line).encode() + b"\n",
        f"/crates/{NAME}/{VERSION}/download": crate,
    }


def go_proxy(url: str) -> dict[str, bytes]:
    manifest = f"module {GO_MODULE}\n\ngo 1.16\n"
    below = f"{GO_MODULE}@v{VERSION}"
    module = zipped({
        f"{below}/go.mod": manifest,
        f"{below}/hello.go": f'package {NAME}\n\nfunc Hello() string {{ return "hello" }}\n',
    })
    place = f"/{GO_MODULE}/@v"
    return {
        f"{place}/list": f"v{VERSION}\n".encode(),
        f"{place}/v{VERSION}.info": json.dumps({"Version": f"v{VERSION}"}).encode(),
        f"{place}/v{VERSION}.mod": manifest.encode(),
        f"{place}/v{VERSION}.zip": module,
    }


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def start_docker(place: Path, servers: Servers) -> str:
    """What of the daemon `docker version` asks for; its socket."""
    path = str(place / "docker.sock")

    class Daemon(Quiet):
        def do_GET(self) -> None:
            if self.path.endswith("/_ping"):
                self.send_response(200)
                self.send_header("Api-Version", "1.41")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            told = {"Version": "day-hello", "ApiVersion": "1.41", "MinAPIVersion": "1.12", "Os": "linux"}
            self.answer(200, json.dumps(told).encode(), "application/json")

        do_HEAD = do_GET

    servers.start(UnixServer(path, Daemon))
    return path


# Turns.


@dataclass
class Played:
    """How a command came out."""

    code: int | None
    text: str
    questions: list[str]
    # Of each call, in milliseconds.
    times: list[int] = field(default_factory=list)


@dataclass
class Command:
    """One command of the day."""

    name: str
    line: str
    work: Path
    # Whether it has done what it is for.
    works: Callable[[Played], bool]
    # The rule's pattern; empty if nothing has to be opened.
    pattern: str = ""
    preset: str = ""
    # The opening of the server, as a line of the rule.
    opening: str = ""
    # Takes back what an earlier try has left.
    reset: Callable[[], None] = lambda: None
    # Whether it is played as somebody without a rule plays it, too: asked once, answered `always`.
    asks: bool = False

    def rule(self, opening: bool = True) -> str:
        lines = ["[[permissions]]", 'tool = "shell"', f'command = "{self.pattern}"', 'effect = "allow"']
        lines += [f'preset = "{self.preset}"'] if self.preset else []
        lines += [self.opening] if opening and self.opening else []
        return "\n".join(lines) + "\n"


class Site:
    """A home of its own, and turns of piton in it."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home"
        self.home.mkdir()
        self.count = 0
        self.env = {name: os.environ[name] for name in KEPT if name in os.environ}
        # rustup finds its toolchains by HOME, too.
        rustup = Path.home() / ".rustup"
        if "RUSTUP_HOME" not in self.env and rustup.is_dir():
            self.env["RUSTUP_HOME"] = str(rustup)
        self.env |= {
            "HOME": str(self.home), "LANG": "C.UTF-8", "PITON_NO_INPUT": "1",
            "PATH": f"{root / 'bin'}:{self.env['PATH']}",
        }
        (root / "bin").mkdir()
        person = "[user]\n\tname = Day\n\temail = day@example.org\n"
        write(self.home / ".gitconfig", f"{person}[init]\n\tdefaultBranch = main\n")

    def work(self, name: str, files: dict[str, str]) -> Path:
        place = self.home / "src" / name
        place.mkdir(parents=True)
        for path, text in files.items():
            write(place / path, text)
        return place

    def repository(self, name: str) -> Path:
        """A workspace with one commit."""
        work = self.work(name, {"a.txt": "one\n"})
        for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "one")):
            self.outside("git", *words, work=work)
        return work

    def outside(self, *words: str, work: Path) -> str:
        """Runs a program as nobody confines it; what it printed."""
        ran = subprocess.run(words, cwd=work, env=self.env, capture_output=True, text=True)
        assert ran.returncode == 0, f"{words}: {ran.stdout}{ran.stderr}"
        return ran.stdout

    def piton(self, home: Path, work: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PITON, *words], cwd=work, env=self.env | {"PITON_HOME": str(home)},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE + 60,
        )

    def fresh(self, settings: str) -> Path:
        """A new home of piton with these settings."""
        self.count += 1
        home = self.root / f"piton-{self.count}"
        write(home / "piton.toml", settings)
        return home

    def turn(self, home: Path, work: Path, calls: list[dict[str, object]], *flags: str) -> Played:
        """A turn with these calls of `shell`, one after the other."""
        steps: list[object] = [{"calls": [{"tool": "shell", "arguments": call}]} for call in calls]
        script = write(home / "script.json", json.dumps({"steps": [*steps, {"say": "Done."}]}))
        query = ("query", "go", "--new", "--permissions", "auto", "--model", f"script:{script}", *flags)
        ran = self.piton(home, work, *query)
        assert ran.returncode in (0, 3), f"piton failed with {ran.returncode}: {ran.stdout}{ran.stderr}"
        return self.seen(home, work)

    def seen(self, home: Path, work: Path) -> Played:
        """What the journal says of the newest conversation."""
        printed = self.piton(home, work, "print", "--json", "--raw").stdout
        entries = [json.loads(line) for line in printed.splitlines()]
        events = [(entry["at"], entry["event"]) for entry in entries if "event" in entry]
        questions = [str(event["inquiry"]) for _, event in events if event["type"] == "InquiryRaised"]
        begun = {event["call"]: at for at, event in events if event["type"] == "ToolStarted"}
        ended = [(at, event) for at, event in events if event["type"] == "ToolFinished"]
        times = [at - begun[event["call"]] for at, event in ended if event["call"] in begun]
        output = ended[-1][1]["output"] if ended else {}
        return Played(output.get("exit_code"), output.get("text", ""), questions, times)

    def play(self, command: Command, settings: str) -> Played:
        command.reset()
        call: dict[str, object] = {"command": command.line, "timeout_s": PATIENCE, "wait_s": PATIENCE}
        return self.turn(self.fresh(settings), command.work, [call])


# The day.


@dataclass
class Row:
    """A line of the table."""

    name: str
    opened: str
    questions: str
    result: str
    without: str
    faults: list[str] = field(default_factory=list)
    # Questions that a person had to answer, and those that nobody should have been asked.
    needed: int = 0
    needless: int = 0


def told_needs(text: str) -> object:
    """What the result of a command tells to ask for; none if it does not know that."""
    notes = [line for line in text.splitlines() if line.startswith("[") and "sandbox" in line]
    _, _, needs = "".join(notes).partition("call again with needs {")
    try:
        return json.JSONDecoder().raw_decode("{" + needs)[0]
    except ValueError:
        return None


def told_words(site: Site, played: Played) -> str:
    """What a result told, as the table has it: numbers and places that change from run to run have names."""
    needs = told_needs(played.text)
    if needs is None:
        return "told in general" if "in a sandbox" in played.text else "told nothing"
    words = json.dumps(needs).replace(str(site.root), "PLACE")
    return "told " + re.sub(r":[0-9]{4,5}\b", ":PORT", words)


def show_output(name: str, what: str, played: Played) -> None:
    if SHOWS:
        print(f"--- {name}, {what}: {played.code}\n{played.text}", file=sys.stderr)


def control(site: Site, command: Command, row: Row) -> None:
    """The command without its opening: it must fail, and be told why."""
    tries = {"nothing opened": ""}
    if command.preset and command.opening:
        tries["the preset alone"] = command.rule(opening=False)
    told = []
    for what, settings in tries.items():
        played = site.play(command, settings)
        if played.questions:
            row.faults.append(f"{what}: it asked: {played.questions}")
        if played.code == 0 or command.works(played):
            row.faults.append(f"{what}: it got through: {played.text[-600:]}")
        show_output(command.name, what, played)
        told.append(f"exit {played.code}, {told_words(site, played)}")
    row.without = told[0] if len(set(told)) == 1 else f"{told[0]}; with the preset alone {told[1]}"


def asked(site: Site, command: Command) -> Row:
    """Without a rule: the model asks for what it was told, a person says `always`, and then nobody is asked."""
    row = Row(f"{command.name}, without a rule", "always", "", "", "")
    command.reset()
    home = site.fresh("")
    call: dict[str, object] = {"command": command.line}
    first = site.turn(home, command.work, [call])
    needed = told_needs(first.text)
    if needed is None:
        row.faults.append(f"what it was told names no needs: {first.text}")
        return row
    waiting = site.turn(home, command.work, [call | {"needs": needed}])
    answer = ("answer", "always", "--scope", "user", "--width", "first-words", "--continue")
    answered = site.piton(home, command.work, *answer)
    second = site.seen(home, command.work)
    third = site.turn(home, command.work, [call])
    row.needed, row.needless = len(waiting.questions), len(first.questions) + len(third.questions)
    row.questions = f"{row.needed}, needed"
    row.result = f"exit {second.code}, again {third.code}"
    row.without = f"exit {first.code}, {told_words(site, first)}"
    if first.code == 0 or first.questions:
        row.faults.append(f"at first: {first}")
    if len(waiting.questions) != 1 or answered.returncode != 0 or second.code != 0:
        row.faults.append(f"with `always`: {waiting} {answered} {second}")
    if third.questions or third.code != 0 or not command.works(third):
        row.faults.append(f"after `always`: {third}")
    return row


def performed(site: Site, command: Command) -> Row:
    opened = " and a host" if command.opening.startswith("network") else " and a socket" if command.opening else ""
    row = Row(command.name, command.preset + opened if command.pattern else "nothing", "", "", "needs nothing")
    if command.pattern:
        control(site, command, row)
    played = site.play(command, command.rule() if command.pattern else "")
    row.needless = len(played.questions)
    row.questions, row.result = str(row.needless), f"exit {played.code}"
    if played.questions:
        row.faults.append(f"a question that was not needed: {played.questions}")
    if played.code != 0 or not command.works(played):
        row.faults.append(f"it does not work: {played.text[-1500:]}")
    show_output(command.name, "with its openings", played)
    return row


def rust(site: Site) -> list[Command]:
    need("cargo")
    work = site.work("crate", {
        "Cargo.toml": '[package]\nname = "day"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": "pub fn twice(of: u32) -> u32 {\n    of * 2\n}\n\n"
        "#[test]\nfn twice_two_is_four() {\n    assert_eq!(twice(2), 4);\n}\n",
    })
    commands = [
        Command("cargo build", "cargo build --offline", work, lambda _: (work / "target/debug/libday.rlib").exists()),
        Command("cargo test", "cargo test --offline", work, lambda played: "1 passed" in played.text),
    ]
    if shutil.which("cargo-clippy"):
        lint = "cargo clippy --offline -- -D warnings"
        commands.append(Command("cargo clippy", lint, work, lambda played: "Finished" in played.text))
    return commands


def c(site: Site) -> list[Command]:
    need("make", "cc")
    work = site.work("c", {
        "Makefile": "hello: hello.o\n\tcc -o $@ $<\n\nhello.o: hello.c\n\tcc -c -o $@ $<\n",
        "hello.c": '#include <stdio.h>\n\nint main(void) {\n    puts("hello");\n    return 0;\n}\n',
    })
    return [Command("make", "make && ./hello", work, lambda played: "hello" in played.text)]


def python(site: Site) -> list[Command]:
    work = site.work("python", {
        "test_day.py": "import unittest\n\n\nclass Day(unittest.TestCase):\n    def test_it(self):\n"
        "        self.assertEqual(2 * 2, 4)\n",
    })
    return [
        Command("python -m unittest", "python3 -m unittest -v", work, lambda played: "OK" in played.text),
    ]


def local_git(site: Site) -> list[Command]:
    work = site.repository("git")

    def seen(*words: str) -> str:
        return site.outside("git", *words, work=work)

    def edit(path: str) -> Callable[[], None]:
        return lambda: None if write(work / path, f"{path} has more\n") else None

    def diverge() -> None:
        """A commit on main that the branch has not."""
        edit("c.txt")()
        seen("switch", "-q", "main")
        seen("add", "c.txt")
        seen("commit", "-q", "-m", "three")
        seen("switch", "-q", "topic")

    return [
        Command("git diff", "git diff", work, lambda played: "+a.txt has more" in played.text, reset=edit("a.txt")),
        Command("git switch -c", "git switch -c topic", work, lambda _: seen("branch", "--show-current") == "topic\n"),
        Command("git add", "git add a.txt", work, lambda _: "M  a.txt" in seen("status", "--short")),
        Command("git commit", "git commit -m two", work, lambda _: "two" in seen("log", "--format=%s")),
        Command("git log", "git log --oneline", work, lambda played: "two" in played.text),
        Command("git branch", "git branch spare", work, lambda _: "spare" in seen("branch")),
        Command("git rebase", "git rebase main", work, reset=diverge,
                works=lambda _: seen("log", "--format=%s") == "two\nthree\none\n"),
    ]


def remote_git(site: Site, name: str, work: Path, bare: Path, address: str, preset: str) -> list[Command]:
    """Fetch and push, as one who works with others does it."""
    ours = "refs/remotes/origin/theirs"

    def has(where: Path, ref: str) -> bool:
        show = ["git", "show-ref", "--quiet", "--verify", ref]
        return subprocess.run(show, cwd=where, env=site.env).returncode == 0

    def forget() -> None:
        subprocess.run(["git", "update-ref", "-d", ours], cwd=work, env=site.env, check=True)

    opening = f'network = ["{address}"]'
    return [
        Command(f"git fetch over {name}", "git fetch origin", work, lambda _: has(work, ours), "git fetch *",
                preset, opening, forget, asks=name == "HTTP"),
        Command(f"git push over {name}", "git push origin main:refs/heads/pushed", work,
                lambda _: has(bare, "refs/heads/pushed"), "git push *", preset, opening),
    ]


def shared_repository(site: Site, name: str) -> tuple[Path, Path]:
    """A clone, and the bare repository that it is to fetch from, which has a branch more."""
    work = site.repository(name)
    repositories = site.root / f"repositories-{name}"
    repositories.mkdir()
    bare = repositories / "day.git"
    site.outside("git", "clone", "-q", "--bare", ".", str(bare), work=work)
    for words in (("branch", "theirs"), ("config", "http.receivepack", "true")):
        site.outside("git", *words, work=bare)
    return work, bare


def git_http(site: Site, servers: Servers) -> list[Command]:
    work, bare = shared_repository(site, "git-http")
    address = servers.http(git_over_http(bare.parent, site.env))
    site.outside("git", "remote", "add", "origin", f"http://{address}/day.git", work=work)
    return remote_git(site, "HTTP", work, bare, address, "git-https")


def git_ssh(site: Site, servers: Servers, stack: contextlib.ExitStack) -> list[Command]:
    need("ssh", "ssh-keygen")
    work, bare = shared_repository(site, "git-ssh")
    place, keys = site.root / "sshd", site.home / ".ssh"
    place.mkdir()
    keys.mkdir(mode=0o700)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / "id_ed25519"], check=True)
    address, known = start_sshd(place, (keys / "id_ed25519.pub").read_text(), servers, stack)
    write(keys / "known_hosts", known)
    write(keys / "config", "StrictHostKeyChecking yes\n").chmod(0o600)
    site.env["SSH_AUTH_SOCK"] = start_agent(place, keys / "id_ed25519", stack)
    ssh = site.root / "bin" / "ssh"
    write(ssh, f"""#!/bin/sh
config=$HOME/.ssh/config
cat "$config" >/dev/null 2>&1 || config=none
exec {shutil.which("ssh")} -F "$config" -o UserKnownHostsFile="$HOME/.ssh/known_hosts" \\
    -o IdentityFile="$HOME/.ssh/id_ed25519" "$@"
""").chmod(0o755)
    url = f"ssh://{getpass.getuser()}@{address}{bare}"
    site.outside("git", "remote", "add", "origin", url, work=work)
    return remote_git(site, "SSH", work, bare, address, "git-ssh")


def pip(site: Site, servers: Servers) -> list[Command]:
    address = servers.files(pip_index)
    write(site.home / ".config/pip/pip.conf", f"[global]\nindex-url = http://{address}/simple\nretries = 1\n")
    work = site.work("pip", {})
    hello = [".venv/bin/python", "-c", f"import {NAME}"]

    def says_hello(_: Played) -> bool:
        ran = subprocess.run(hello, cwd=work, env=site.env, capture_output=True, text=True)
        return ran.stdout == "hello\n"

    return [
        Command("python -m venv", "python3 -m venv .venv", work, lambda _: (work / ".venv/bin/pip").exists()),
        Command("pip install", f".venv/bin/pip install {NAME}", work, says_hello, ".venv/bin/pip install *",
                "pip", f'network = ["{address}"]'),
    ]


def npm(site: Site, servers: Servers) -> list[Command]:
    need("npm", "node")
    address = servers.files(npm_registry)
    work = site.work("npm", {
        "package.json": '{ "name": "day", "version": "1.0.0", "private": true }\n',
        ".npmrc": f"registry=http://{address}/\nfetch-retries=0\n",
    })

    def says_hello(_: Played) -> bool:
        hello = ["node", "-e", f"require('{NAME}')"]
        ran = subprocess.run(hello, cwd=work, env=site.env, capture_output=True, text=True)
        return ran.stdout == "hello\n"

    return [
        Command("npm install", f"npm install {NAME}", work, says_hello, "npm install *", "npm",
                f'network = ["{address}"]'),
    ]


def cargo(site: Site, servers: Servers) -> list[Command]:
    need("cargo")
    address = servers.files(cargo_registry)
    write(site.home / ".cargo/config.toml",
          f'[registries.day]\nindex = "sparse+http://{address}/"\n\n[net]\nretry = 0\n')
    work = site.work("cargo", {
        "Cargo.toml": '[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n\n'
        f'[dependencies]\n{NAME} = {{ version = "1", registry = "day" }}\n',
        "src/main.rs": f'fn main() {{\n    println!("{{}}", {NAME}::hello());\n}}\n',
    })

    def forget() -> None:
        shutil.rmtree(site.home / ".cargo/registry", ignore_errors=True)
        (work / "Cargo.lock").unlink(missing_ok=True)

    def has_crate(_: Played) -> bool:
        return bool(list((site.home / ".cargo/registry").glob(f"cache/*/{NAME}-{VERSION}.crate")))

    opening = f'network = ["{address}"]'
    return [
        Command("cargo fetch", "cargo fetch", work, has_crate, "cargo *", "cargo", opening, forget),
        Command("cargo run with a dependency", "cargo run", work,
                lambda played: has_crate(played) and played.text.rstrip().endswith("hello"),
                "cargo *", "cargo", opening, forget),
    ]


def other_name() -> tuple[str, str]:
    """A name of this machine that is not `localhost`, and its address: go asks no proxy for the usual ones."""
    for name in (socket.gethostname(), "ip6-localhost", "ip6-loopback", "localhost6"):
        with contextlib.suppress(OSError):
            found = {str(entry[4][0]) for entry in socket.getaddrinfo(name, None)}
            address = found.pop()
            if not found and ipaddress.ip_address(address).is_loopback:
                return name, address
    raise Missing("no name of this machine but localhost, for which go asks no proxy")


def go(site: Site, servers: Servers) -> list[Command]:
    need("go")
    name, address = other_name()
    port = servers.files(go_proxy, address).rpartition(":")[2]
    write(site.home / ".config/go/env", f"GOPROXY=http://{name}:{port}\nGOSUMDB=off\nGOFLAGS=-modcacherw\n")
    work = site.work("go", {
        "go.mod": "module day\n\ngo 1.16\n",
        "main.go": f'package main\n\nimport "{GO_MODULE}"\n\nfunc main() {{ println({NAME}.Hello()) }}\n',
    })

    def has_module(_: Played) -> bool:
        return (site.home / f"go/pkg/mod/{GO_MODULE}@v{VERSION}").is_dir()

    def says_hello(_: Played) -> bool:
        program = work / "day"
        return program.exists() and "hello" in subprocess.run([program], capture_output=True, text=True).stderr

    # What leads to an address that is not public has to be named by it, too.
    rule = f'network = ["{name}:{port}", "{f"[{address}]" if ":" in address else address}:{port}"]'
    return [
        Command("go get", f"go get {GO_MODULE}", work, has_module, "go *", "go", rule),
        Command("go build", "go build -o day .", work, says_hello, "go *", "go"),
    ]


def docker(site: Site, servers: Servers) -> list[Command]:
    need("docker")
    place = site.root / "docker"
    place.mkdir()
    path = start_docker(place, servers)
    site.env["DOCKER_HOST"] = f"unix://{path}"
    work = site.work("docker", {})
    return [
        Command("docker version", "docker version", work, lambda played: "day-hello" in played.text,
                "docker *", "docker", f'sockets = ["{path}"]'),
    ]


def cost(site: Site) -> str:
    """How much longer a command takes behind the wall: a ratio of medians, over turns in turns."""
    work = site.repository("cost")
    programs = ("true", "git status")
    calls: list[dict[str, object]] = [{"command": "true"}]
    calls += [{"command": program} for _ in range(PAIRS) for program in programs]
    homes = {"auto": site.fresh(""), "off": site.fresh("")}
    times: dict[tuple[str, str], list[int]] = {(mode, program): [] for mode in homes for program in programs}
    for _ in range(ROUNDS):
        for mode, home in homes.items():
            # The first call of a turn makes the wall.
            _, *spent = site.turn(home, work, calls, "--sandbox", mode).times
            for number, one in enumerate(spent):
                times[mode, programs[number % 2]].append(one)
    told = []
    for program in programs:
        behind, free = (statistics.median(times[mode, program]) for mode in ("auto", "off"))
        told.append(f"`{program}` takes {behind / max(free, 1):.1f} times as long")
    return f"Behind the wall {' and '.join(told)}, from start to recorded end; medians of {ROUNDS * PAIRS} calls each."


Group = tuple[str, Callable[[], list[Command]]]


def groups(site: Site, servers: Servers, stack: contextlib.ExitStack) -> Iterator[Group]:
    yield "cargo", lambda: rust(site)
    yield "make", lambda: c(site)
    yield "python", lambda: python(site)
    yield "git", lambda: local_git(site)
    yield "git over HTTP", lambda: git_http(site, servers)
    yield "git over SSH", lambda: git_ssh(site, servers, stack)
    yield "pip", lambda: pip(site, servers)
    yield "npm", lambda: npm(site, servers)
    yield "cargo with a registry", lambda: cargo(site, servers)
    yield "go", lambda: go(site, servers)
    yield "docker", lambda: docker(site, servers)


def show(row: Row) -> None:
    cells = (row.name, row.opened, row.questions, row.result, row.without)
    print(f"| {' | '.join(cells)} |{' WRONG' if row.faults else ''}", flush=True)


def remove(place: Path) -> None:
    """Removes all of it, also what a supervisor that is about to end writes there once more."""
    gone, until = 0, time.monotonic() + LEAVING
    while gone < GONE and time.monotonic() < until:
        gone = 0 if place.exists() else gone + 1
        shutil.rmtree(place, ignore_errors=True)
        time.sleep(0.2)


def main() -> None:
    # Not below the temporary directory, where every command may write.
    with contextlib.ExitStack() as stack:
        place = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="piton-day-")).resolve()
        stack.callback(remove, place)
        site, servers = Site(place), Servers(stack)
        rows: list[Row] = []
        print("| command | opened by | questions | with it | without it |\n|---|---|---|---|---|", flush=True)
        for name, make in groups(site, servers, stack):
            if ONLY and name not in ONLY:
                continue
            try:
                commands = make()
            except Missing as missing:
                show(Row(name, "", "", f"skipped: {missing}", ""))
                continue
            for command in commands:
                rows.append(asked(site, command)) if command.asks else None
                if command.asks:
                    show(rows[-1])
                rows.append(performed(site, command))
                show(rows[-1])
        needed, needless = sum(row.needed for row in rows), sum(row.needless for row in rows)
        print(f"{len(rows)} commands; questions that were needed: {needed}, that were not: {needless}.")
        if ROUNDS:
            print(cost(site), flush=True)
    faults = [(row.name, fault) for row in rows for fault in row.faults]
    for name, fault in faults:
        print(f"day: {name}: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
