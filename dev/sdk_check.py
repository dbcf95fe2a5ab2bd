"""The official libraries against `piton sim serve`; run by dev/sdk-check, which installs them.

Every check asserts on what the library made of the answer: typed text, tool name, parsed arguments,
stop reason, usage, and its own exceptions.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile

import anthropic
import openai
from google import genai
from google.genai import errors, types

PITON = sys.argv[1]
ARGUMENTS = {"path": "ü.txt", "lines": [1, 2]}
SCRIPT = {
    "steps": [
        {
            "think": "A file, hm.",
            "say": "I look into it.",
            "calls": [
                {"tool": "read_file", "arguments": ARGUMENTS},
                {"tool": "list_dir", "arguments": {}},
            ],
            "chunk": 4,
        },
        {"think": "Good.", "say": "It says hi, 日本.", "chunk": 4},
    ]
}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
FIRST, LAST = "I look into it.", "It says hi, 日本."
CALLS = [("read_file", ARGUMENTS), ("list_dir", {})]


class Server:
    """A serving process: its addresses, and what it was asked."""

    def __init__(self, process, variables):
        self.process, self.variables, self.requests = process, variables, []

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=30)
        lines = [json.loads(line) for line in rest.splitlines()]
        self.requests = [line for line in lines if line["type"] == "request"]
        assert self.process.returncode == 0, self.process.returncode

    def statuses(self):
        return [request["status"] for request in self.requests]


@contextlib.contextmanager
def serving(*flags):
    """Serves the script; what it was asked is known when the block has ended."""
    with tempfile.TemporaryDirectory() as home:
        script = os.path.join(home, "script.json")
        with open(script, "w", encoding="utf-8") as file:
            json.dump(SCRIPT, file)
        process = subprocess.Popen(
            [PITON, "sim", "serve", "--json", "--script", script, *flags],
            env={**os.environ, "PITON_HOME": home},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            server = Server(process, json.loads(process.stdout.readline())["variables"])
            yield server
            server.stop()
        finally:
            process.kill()
            process.wait()


def raises(kind, work):
    try:
        work()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


# Anthropic


def anthropic_client(server):
    return anthropic.Anthropic(base_url=server.variables["ANTHROPIC_BASE_URL"], api_key="sim")


def anthropic_ask(client, messages):
    tools = [{"name": name, "description": "-", "input_schema": SCHEMA} for name, _ in CALLS]
    with client.messages.stream(
        model="claude-sim", max_tokens=2048, messages=messages, tools=tools
    ) as stream:
        text = "".join(stream.text_stream)
        return text, stream.get_final_message()


def anthropic_history(answer):
    calls = [block for block in answer.content if block.type == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": it.id, "content": "hi"} for it in calls]
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [block.model_dump() for block in answer.content]},
        {"role": "user", "content": results},
    ]


def anthropic_turn():
    with serving() as server:
        client = anthropic_client(server)
        text, answer = anthropic_ask(client, [{"role": "user", "content": "go"}])
        assert text == FIRST, text
        assert answer.content[0].thinking == "A file, hm." and answer.content[0].signature
        calls = [(it.name, it.input) for it in answer.content if it.type == "tool_use"]
        assert calls == CALLS, calls
        assert answer.stop_reason == "tool_use"
        assert (answer.usage.input_tokens, answer.usage.output_tokens) == (100, 10)
        text, answer = anthropic_ask(client, anthropic_history(answer))
        assert (text, answer.stop_reason) == (LAST, "end_turn"), answer
    assert server.statuses() == [200, 200]


def anthropic_whole():
    with serving() as server:
        client = anthropic_client(server)
        answer = client.messages.create(
            model="claude-sim", max_tokens=99, messages=[{"role": "user", "content": "go"}]
        )
        calls = [(it.name, it.input) for it in answer.content if it.type == "tool_use"]
        assert calls == CALLS, calls


def anthropic_rejected():
    with serving() as server:
        client = anthropic_client(server)
        _, answer = anthropic_ask(client, [{"role": "user", "content": "go"}])
        history = anthropic_history(answer)
        history[2]["content"].pop()
        error = raises(anthropic.BadRequestError, lambda: anthropic_ask(client, history))
        said = error.body["error"]
        assert said["type"] == "invalid_request_error", said
        assert said["message"].startswith(
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: call_0_1."
        ), said
        history = anthropic_history(answer)
        history[1]["content"][0]["thinking"] += " (altered)"
        error = raises(anthropic.BadRequestError, lambda: anthropic_ask(client, history))
        assert "Invalid `signature` in `thinking` block" in error.message, error.message


def anthropic_retried():
    with serving("--fault", "429,wait=20") as server:
        text, _ = anthropic_ask(anthropic_client(server), [{"role": "user", "content": "go"}])
        assert text == FIRST
    assert server.statuses() == [429, 200], server.statuses()


def anthropic_broken_inside():
    with serving("--fault", "overloaded,after=6") as server:
        client = anthropic_client(server)
        error = raises(
            anthropic.APIStatusError,
            lambda: anthropic_ask(client, [{"role": "user", "content": "go"}]),
        )
        assert error.body["error"]["type"] == "overloaded_error", error.body


# OpenAI, both endpoints


def openai_client(server):
    return openai.OpenAI(base_url=server.variables["OPENAI_BASE_URL"], api_key="sim")


def chat_ask(client, messages):
    """The library's own accumulator of streams."""
    tools = [
        {"type": "function", "function": {"name": name, "description": "-", "parameters": SCHEMA}}
        for name, _ in CALLS
    ]
    with client.chat.completions.stream(
        model="gpt-4o", messages=messages, tools=tools, stream_options={"include_usage": True}
    ) as stream:
        text = "".join(event.delta for event in stream if event.type == "content.delta")
        return text, stream.get_final_completion()


def chat_history(answer):
    calls = answer.choices[0].message.tool_calls
    said = [{"id": it.id, "type": "function", "function": {"name": it.function.name, "arguments": it.function.arguments}} for it in calls]
    results = [{"role": "tool", "tool_call_id": it.id, "content": "hi"} for it in calls]
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": FIRST, "tool_calls": said},
        *results,
    ]


def chat_turn():
    with serving() as server:
        client = openai_client(server)
        text, answer = chat_ask(client, [{"role": "user", "content": "go"}])
        choice = answer.choices[0]
        assert text == FIRST == choice.message.content, text
        calls = [(it.function.name, json.loads(it.function.arguments)) for it in choice.message.tool_calls]
        assert calls == CALLS, calls
        assert choice.finish_reason == "tool_calls"
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (100, 10)
        text, answer = chat_ask(client, chat_history(answer))
        assert (text, answer.choices[0].finish_reason) == (LAST, "stop"), answer
    assert server.statuses() == [200, 200]


def chat_rejected():
    with serving() as server:
        client = openai_client(server)
        _, answer = chat_ask(client, [{"role": "user", "content": "go"}])
        history = chat_history(answer)[:-1]
        error = raises(openai.BadRequestError, lambda: chat_ask(client, history))
        assert error.type == "invalid_request_error" and error.param == "messages", error.body
        assert error.body["message"] == (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: call_0_1"
        ), error.body


def chat_retried():
    with serving("--fault", "429,wait=20") as server:
        text, _ = chat_ask(openai_client(server), [{"role": "user", "content": "go"}])
        assert text == FIRST
    assert server.statuses() == [429, 200], server.statuses()


def responses_ask(client, items):
    tools = [{"type": "function", "name": name, "description": "-", "parameters": SCHEMA} for name, _ in CALLS]
    with client.responses.stream(
        model="gpt-5", input=items, tools=tools, store=False, include=["reasoning.encrypted_content"]
    ) as stream:
        text = "".join(it.delta for it in stream if it.type == "response.output_text.delta")
        return text, stream.get_final_response()


def responses_history(answer):
    calls = [it for it in answer.output if it.type == "function_call"]
    outputs = [{"type": "function_call_output", "call_id": it.call_id, "output": "hi"} for it in calls]
    items = [it.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for it in answer.output]
    for item in items:
        for part in item.get("content", []):
            part.pop("parsed", None)
    return [{"role": "user", "content": "go"}, *items, *outputs]


def responses_turn():
    with serving() as server:
        client = openai_client(server)
        text, answer = responses_ask(client, [{"role": "user", "content": "go"}])
        assert text == FIRST == answer.output_text, text
        assert answer.output[0].type == "reasoning" and answer.output[0].encrypted_content
        assert answer.output[0].summary[0].text == "A file, hm."
        calls = [(it.name, json.loads(it.arguments)) for it in answer.output if it.type == "function_call"]
        assert calls == CALLS, calls
        assert answer.status == "completed"
        assert (answer.usage.input_tokens, answer.usage.output_tokens) == (100, 10)
        text, answer = responses_ask(client, responses_history(answer))
        assert (text, answer.output_text, answer.status) == (LAST, LAST, "completed"), answer
    assert server.statuses() == [200, 200]


def responses_rejected():
    with serving() as server:
        client = openai_client(server)
        _, answer = responses_ask(client, [{"role": "user", "content": "go"}])
        history = responses_history(answer)[:-1]
        error = raises(openai.BadRequestError, lambda: responses_ask(client, history))
        assert error.body["message"] == "No tool output found for function call call_0_1.", error.body
        history = responses_history(answer)
        history[1]["encrypted_content"] += "x"
        error = raises(openai.BadRequestError, lambda: responses_ask(client, history))
        assert error.code == "invalid_encrypted_content", error.body


def responses_retried():
    with serving("--fault", "429,wait=20") as server:
        text, _ = responses_ask(openai_client(server), [{"role": "user", "content": "go"}])
        assert text == FIRST
    assert server.statuses() == [429, 200], server.statuses()


# Gemini


def gemini_client(server):
    retry = types.HttpRetryOptions(attempts=3, initial_delay=0.01, max_delay=0.05)
    options = types.HttpOptions(base_url=server.variables["GOOGLE_GEMINI_BASE_URL"], retry_options=retry)
    return genai.Client(api_key="sim", http_options=options)


def gemini_ask(client, contents):
    declarations = [
        types.FunctionDeclaration(name=name, description="-", parameters_json_schema=SCHEMA) for name, _ in CALLS
    ]
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=declarations)],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    chunks = list(
        client.models.generate_content_stream(model="gemini-3-pro", contents=contents, config=config)
    )
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    text = "".join(part.text for part in parts if part.text and not part.thought)
    return text, parts, chunks[-1]


def gemini_history(parts):
    calls = [part.function_call for part in parts if part.function_call]
    results = [
        types.Part(function_response=types.FunctionResponse(id=it.id, name=it.name, response={"output": "hi"}))
        for it in calls
    ]
    said = [part for part in parts if not part.thought]
    return [
        types.Content(role="user", parts=[types.Part(text="go")]),
        types.Content(role="model", parts=said),
        types.Content(role="user", parts=results),
    ]


def gemini_turn():
    with serving() as server:
        client = gemini_client(server)
        text, parts, last = gemini_ask(client, "go")
        assert text == FIRST, text
        assert "".join(part.text for part in parts if part.thought) == "A file, hm."
        calls = [(it.function_call.name, it.function_call.args) for it in parts if it.function_call]
        assert calls == CALLS, calls
        assert last.candidates[0].finish_reason == types.FinishReason.STOP
        usage = last.usage_metadata
        assert (usage.prompt_token_count, usage.candidates_token_count) == (100, 10), usage
        text, parts, last = gemini_ask(client, gemini_history(parts))
        assert text == LAST and last.candidates[0].finish_reason == types.FinishReason.STOP, text
    assert server.statuses() == [200, 200]


def gemini_rejected():
    with serving() as server:
        client = gemini_client(server)
        _, parts, _ = gemini_ask(client, "go")
        history = gemini_history(parts)
        history[2].parts.pop()
        error = raises(errors.ClientError, lambda: gemini_ask(client, history))
        assert (error.code, error.status) == (400, "INVALID_ARGUMENT"), error
        assert error.message == (
            "Please ensure that the number of function response parts is equal to the number of function "
            "call parts of the function call turn."
        ), error.message
        history = gemini_history(parts)
        for part in history[1].parts:
            part.thought_signature = None
        error = raises(errors.ClientError, lambda: gemini_ask(client, history))
        assert error.message.startswith("Function call is missing a thought_signature"), error.message


def gemini_retried():
    with serving("--fault", "429,wait=20") as server:
        text, _, _ = gemini_ask(gemini_client(server), "go")
        assert text == FIRST
    assert server.statuses() == [429, 200], server.statuses()


CHECKS = [
    ("anthropic: messages.stream, a turn with two tools", anthropic_turn),
    ("anthropic: messages.create, in one piece", anthropic_whole),
    ("anthropic: broken sequence and altered thinking are BadRequestError", anthropic_rejected),
    ("anthropic: 429 with retry-after, the library retries", anthropic_retried),
    ("anthropic: an error inside the stream is raised", anthropic_broken_inside),
    ("openai: chat.completions stream, a turn with two tools", chat_turn),
    ("openai: chat.completions, broken sequence is BadRequestError", chat_rejected),
    ("openai: chat.completions, 429 with retry-after, the library retries", chat_retried),
    ("openai: responses stream, a turn with two tools", responses_turn),
    ("openai: responses, broken sequence and altered reasoning are BadRequestError", responses_rejected),
    ("openai: responses, 429 with retry-after, the library retries", responses_retried),
    ("google-genai: generate_content_stream, a turn with two tools", gemini_turn),
    ("google-genai: broken sequence and missing signature are ClientError", gemini_rejected),
    ("google-genai: 429, the library retries", gemini_retried),
]


def main():
    # Loopback is asked directly, whatever proxies there are.
    os.environ["NO_PROXY"] = "127.0.0.1"
    failed = 0
    for name, check in CHECKS:
        try:
            check()
            print(f"ok    {name}", flush=True)
        except Exception as error:  # every check is to be tried
            failed += 1
            print(f"FAIL  {name}: {type(error).__name__}: {error}", flush=True)
    versions = f"anthropic {anthropic.__version__}, openai {openai.__version__}, google-genai {genai.__version__}"
    print(f"sdk-check: {len(CHECKS) - failed} of {len(CHECKS)} checks passed ({versions})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
