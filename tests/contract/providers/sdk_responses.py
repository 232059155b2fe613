"""Has the provider's own Python package read an answer, from a server on this machine, and says what it thinks of it.

The packages accept nearly everything unless they are told to be strict, and even then keep keys that they do not know:
those are reported as well.
"""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import anthropic
import openai
from anthropic.types.computer_tool_use_block import ComputerToolUseBlock
from pydantic import BaseModel, TypeAdapter, ValidationError

# What servers of open models add to the answers of OpenAI's protocol.
ADDED = {"reasoning", "reasoning_content", "stop_reason", "token_ids", "prompt_logprobs", "prompt_token_ids", "kv_transfer_params", "timings"}


class Canned(http.server.BaseHTTPRequestHandler):
    """Answers everything with the same."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        status, body = self.server.answer
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """A server with this answer; yields its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Canned)
    server.answer = (status, body)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def read(kind: str, status: int, body: bytes) -> BaseModel:
    """The answer as the package reads it.

    Raises what the package raises: an error of its own for a status that is none of success, a validation error for an
    answer that is not as it should be.
    """
    with answering(status, body) as address:
        strict = {"api_key": "none", "max_retries": 0, "_strict_response_validation": True}
        message = {"role": "user", "content": "x"}
        if kind == "anthropic":
            with anthropic.Anthropic(base_url=address, **strict) as client:
                return client.messages.create(model="m", max_tokens=8, messages=[message])
        with openai.OpenAI(base_url=f"{address}/v1", **strict) as client:
            if kind == "openai-responses":
                return client.responses.create(model="m", input="x")
            return client.chat.completions.create(model="m", messages=[message])


def unknown_keys(value: object, path: str = "") -> Iterator[str]:
    """Keys that the package kept without knowing them."""
    if isinstance(value, BaseModel):
        yield from (f"{path}.{key}" for key in value.model_extra or () if key not in ADDED)
        for key, part in value.__dict__.items():
            yield from unknown_keys(part, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            yield from unknown_keys(part, f"{path}.{index}")


COMPUTER_CALL = TypeAdapter(ComputerToolUseBlock)


def wrong_computer_calls(body: bytes) -> list[str]:
    """What is wrong with the inputs of the computer toolset, which the package's client does not look at."""
    content = json.loads(body).get("content")
    blocks = content if isinstance(content, list) else []
    calls = [block for block in blocks if block.get("toolset_name") == "computer"]
    return [problem for call in calls for problem in wrong_call(call)]


def wrong_call(block: dict) -> list[str]:
    try:
        call = COMPUTER_CALL.validate_json(json.dumps(block), strict=True)
    except ValidationError as error:
        name = block.get("name")
        return [f"{name}: {one['type']} at {'.'.join(map(str, one['loc']))}" for one in error.errors() if name in one["loc"]] or [
            f"{name}: no such call"
        ]
    extra = call.input.model_extra if isinstance(call.input, BaseModel) else None
    return [f"{block['name']}: unknown key {key}" for key in extra or ()]
