"""Servers with something on them, for operations that need what no request of schemathesis makes.

A message that waits, a question or a running command comes from a turn, so that requests made from the
description alone are all answered with 404. Each scene makes one, and says which names lead to it.
"""

import contextlib
import functools
import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field

from api_server import serving

# Questions of a turn: an answer takes one away.
QUESTIONS = 40
# Messages that wait in one conversation; more than five are refused.
QUEUED = 5
# Commands that run: a request may stop one.
COMMANDS = 8
WAIT_S = 60


@dataclass
class Scene:
    """A server, the operations to try on it, and values that their path parameters often take."""

    server: object
    operations: list = field(default_factory=list)
    values: dict = field(default_factory=dict)


def send(server, method, path, body=None):
    """The answer to a request of the scene's own, which has to be taken."""
    request = urllib.request.Request(
        f"{server.url}/api/v1{path}", method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        raise SystemExit(f"api-check: {method} {path}: {refused.read().decode()}") from refused


def begun(server, wait=True):
    """A conversation with a turn that rests, or goes on."""
    name = send(server, "POST", "/conversations", {"directory": server.work})["conversation"]
    send(server, "POST", f"/conversations/{name}/prompt", {"text": "begin", "wait": wait})
    return name


def until(look):
    """What `look` gives once it gives something."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.1)  # wait: the server works in its own time
    raise SystemExit("api-check: the server did not come to what a scene needs")


@contextlib.contextmanager
def failed_turn(operations, piton):
    """A turn that fails whenever it is tried, and messages that wait behind it."""
    fails = {"say": "never", "faults": [{"kind": {"fail": "auth"}, "times": 1_000_000}]}
    with serving(piton, {"steps": [fails]}) as server:
        name = begun(server)
        for number in range(QUEUED):
            place = {"text": f"later {number}", "place": "next"}
            send(server, "POST", f"/conversations/{name}/messages", place)
        waiting = send(server, "GET", f"/conversations/{name}/queue")["queue"]
        yield Scene(server, operations, {"id": [name], "message": [row["id"] for row in waiting]})


@contextlib.contextmanager
def open_questions(piton):
    """A turn that asks about each of its calls."""
    call = lambda n: {"tool": "write_file", "arguments": {"path": f"{n}.txt", "content": "x\n"}}
    script = {"steps": [{"calls": [call(number) for number in range(QUESTIONS)]}, {"say": "done"}]}
    with serving(piton, script) as server:
        name = begun(server)
        asked = send(server, "GET", f"/conversations/{name}/questions")["questions"]
        names = [row["question"]["id"] for row in asked]
        yield Scene(server, ["answer_question"], {"id": [name], "question": names})


@contextlib.contextmanager
def running_commands(piton):
    """Commands that print and go on."""
    line = "for i in $(seq 600); do echo $i; sleep 1; done"
    call = {"tool": "shell", "arguments": {"command": line, "wait_s": 1, "keep": True}}
    script = {"steps": [{"calls": [call] * COMMANDS}, {"say": "they run"}]}
    with serving(piton, script, {"PITON_PERMISSIONS": "auto"}) as server:
        name = begun(server)
        list_running = lambda: send(server, "GET", "/running")["commands"]
        rows = until(lambda: len(rows := list_running()) == COMMANDS and rows)
        operations = ["read_output", "stop_running"]
        try:
            yield Scene(server, operations, {"conversation": [name], "call": [r["call"] for r in rows]})
        finally:
            for row in list_running():
                send(server, "POST", f"/running/{name}/{row['call']}/stop")


SCENES = [
    functools.partial(failed_turn, ["change_waiting_message"]),
    functools.partial(failed_turn, ["take_message_back"]),
    functools.partial(failed_turn, ["retry_message", "act_on_turn"]),
    open_questions,
    running_commands,
]
