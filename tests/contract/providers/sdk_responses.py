"""Parses responses with the provider's own Python package, from a server on the loopback address.

The packages accept nearly everything unless strict validation is enabled, and even then keep unknown keys, which are
reported as well.
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

# Keys that servers of open models add to responses of OpenAI's protocol.
ADDED = {"reasoning", "reasoning_content", "stop_reason", "token_ids", "prompt_logprobs", "prompt_token_ids", "kv_transfer_params", "timings"}


class Canned(http.server.BaseHTTPRequestHandler):
    """Returns the same response to every request."""

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
    """Serves this response; yields the server's address."""
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
    """Returns the response as parsed by the package.

    Raises the package's own error for an error status, and a validation error for an invalid response.
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
    """Yields the unknown keys that the package kept."""
    if isinstance(value, BaseModel):
        yield from (f"{path}.{key}" for key in value.model_extra or () if key not in ADDED)
        for key, part in value.__dict__.items():
            yield from unknown_keys(part, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            yield from unknown_keys(part, f"{path}.{index}")


COMPUTER_CALL = TypeAdapter(ComputerToolUseBlock)


def wrong_computer_calls(body: bytes) -> list[str]:
    """Returns the errors in inputs of the computer toolset, which the package's client does not validate."""
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
