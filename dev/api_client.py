"""A client generated from the description of `piton serve`; run by dev/api-check, which installs the generator.

Generates it into a temporary directory, and uses it as a program would: lists, prompts, follows the events of
a turn, answers its question. Every check asserts on what the generated types made of the answer.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile

from api_server import serving

PITON = sys.argv[1]
SCRIPT = {
    "steps": [
        {"say": "Good morning."},
        {
            "say": "I write it down.",
            "calls": [{"tool": "write_file", "arguments": {"path": "a.txt", "content": "hello\n"}}],
        },
        {"say": "It is written.", "chunk": 4, "chunk_ms": 20},
    ]
}


def generate(server, place):
    """Makes the client, and puts it where Python finds it."""
    import httpx

    token = {"Authorization": f"Bearer {server.token}"}
    description = httpx.get(f"{server.url}/api/openapi.json", headers=token)
    description.raise_for_status()
    path, settings = os.path.join(place, "openapi.json"), os.path.join(place, "settings.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(description.text)
    with open(settings, "w", encoding="utf-8") as file:
        file.write("post_hooks: []\n")
    generator = os.path.join(os.path.dirname(sys.executable), "openapi-python-client")
    made = subprocess.run(
        [
            generator, "generate", "--path", path, "--config", settings, "--meta", "none",
            "--fail-on-warning", "--output-path", os.path.join(place, "piton_api"),
        ],
        capture_output=True, text=True,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    sys.path.insert(0, place)


def operation(tag, name):
    return importlib.import_module(f"piton_api.api.{tag}.{name}")


def events(client, conversation):
    """The events of a conversation as they come: their names and their data."""
    follow = operation("events", "follow_events")
    request = follow._get_kwargs(c=[conversation], list_=1)
    with client.get_httpx_client().stream(**request, timeout=60) as stream:
        assert stream.status_code == 200, stream.status_code
        name = ""
        for line in stream.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))


def begins_and_lists(client, models, work):
    begun = operation("conversations", "begin_conversation").sync(
        client=client, body=models.NewConversation(directory=work, title="generated")
    )
    assert isinstance(begun, models.Begun), begun
    listed = operation("conversations", "list_conversations").sync(client=client, limit=10)
    assert isinstance(listed, models.ListView), listed
    assert [row.title for row in listed.conversations] == ["generated"], listed
    assert listed.conversations[0].state == models.RowState.DONE, listed
    return begun.conversation


def prompts(client, models, conversation):
    answered = operation("turns", "prompt").sync(
        conversation, client=client, body=models.MessageInput(text="good morning", wait=True)
    )
    assert answered.verdict == models.Word.TAKEN, answered
    assert answered.ending == models.EndingWord.DONE, answered
    assert answered.answer == "Good morning.", answered


def streams_and_answers(client, models, conversation, work):
    written = os.path.join(work, "a.txt")
    sent = operation("turns", "send_message").sync(
        conversation, client=client, body=models.MessageInput(text="write it down")
    )
    assert isinstance(sent, models.Receipt), sent
    names, answered, said = [], False, ""
    for name, data in events(client, conversation):
        names.append(name)
        if name == "snapshot":
            snapshot = models.SnapshotEvent.from_dict(data)
            assert isinstance(snapshot.view, models.View), snapshot
            assert snapshot.view.turns[0].items, snapshot
        elif name == "change":
            change = models.ChangeEvent.from_dict(data).change
            assert isinstance(change, models.ViewChange), change
        elif name == "live":
            said = max(said, str(models.LiveEvent.from_dict(data).to_dict()), key=len)
        elif name == "list":
            assert models.ListEvent.from_dict(data).rows, data
        asked = operation("questions", "list_questions").sync(conversation, client=client)
        if asked.questions and not answered:
            assert not os.path.exists(written)
            answers(client, models, asked.questions[0])
            answered = True
        view = operation("conversations", "read_conversation").sync(conversation, client=client)
        if answered and view.head.status.to_dict() == {"is": "idle"}:
            break
    assert answered and {"hello", "snapshot", "change", "list"} <= set(names), names
    with open(written, encoding="utf-8") as file:
        assert file.read() == "hello\n"
    told = operation("turns", "list_messages").sync(conversation, client=client)
    assert [row.answer for row in told.messages] == ["Good morning.", "It is written."], told


def answers(client, models, asked):
    assert isinstance(asked.question, models.QuestionView), asked
    reply = models.ReplyType0.from_dict({"kind": "allow"})
    receipt = operation("questions", "answer_question").sync(
        asked.conversation, asked.question.id, client=client, body=models.ReplyInput(reply=reply)
    )
    assert receipt.verdict == models.Word.TAKEN, receipt


def is_told_what_is_wrong(client, models):
    refused = operation("conversations", "read_conversation").sync_detailed(
        "abcdefghjk", client=client
    )
    assert refused.status_code == 404, refused
    assert isinstance(refused.parsed, models.ErrorBody), refused
    assert refused.parsed.error.kind == models.Kind.UNKNOWN_CONVERSATION, refused


def main():
    with tempfile.TemporaryDirectory() as place, serving(PITON, SCRIPT) as server:
        generate(server, place)
        piton_api = importlib.import_module("piton_api")
        models = importlib.import_module("piton_api.models")
        client = piton_api.AuthenticatedClient(base_url=server.url, token=server.token, timeout=60)
        conversation = begins_and_lists(client, models, server.work)
        prompts(client, models, conversation)
        streams_and_answers(client, models, conversation, server.work)
        is_told_what_is_wrong(client, models)
        count = len(models.__all__)
        print(f"api-check: a generated client with {count} types did what it should", file=sys.stderr)


main()
