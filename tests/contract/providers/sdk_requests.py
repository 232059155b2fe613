"""Validates request bodies against the types of the provider's own Python package, without network access.

    python sdk_requests.py KIND FILE...      prints the errors; exits with 1 if there are any

The packages describe requests as TypedDicts. Validating these unchanged is too lenient: iterables are only validated when
iterated, unknown keys are dropped, and some unions contain *response* models, which accept any key. Therefore, before
the packages are imported, every iterable becomes a list; every TypedDict forbids unknown keys; and keys that only a
response model accepted are reported afterwards. This depends on package internals, so tools/requirements.txt pins the
versions.

Not checked, because types cannot express it: headers, pairing of calls and results, image sizes.
"""

from __future__ import annotations

import json
import sys
import typing
import warnings
from collections.abc import Iterator
from pathlib import Path

# Before the packages are imported: pydantic validates the items of a list, but not those of an iterable.
typing.Iterable = typing.List  # type: ignore[misc, assignment]

import anthropic.types.beta.message_create_params as anthropic_beta  # noqa: E402
import anthropic.types.message_create_params as anthropic_messages  # noqa: E402
import openai.types.chat.completion_create_params as openai_chat  # noqa: E402
import openai.types.responses.response_create_params as openai_responses  # noqa: E402
from pydantic import BaseModel, TypeAdapter, ValidationError  # noqa: E402
from typing_extensions import is_typeddict  # noqa: E402

BODIES = {
    "anthropic": anthropic_messages.MessageCreateParamsNonStreaming,
    "anthropic-beta": anthropic_beta.MessageCreateParamsNonStreaming,
    "openai-responses": openai_responses.ResponseCreateParamsNonStreaming,
    "openai-chat": openai_chat.CompletionCreateParamsNonStreaming,
}

# In the types of Anthropic's package, but sent as headers: the API rejects them in a body.
HEADERS = {"betas", "user_profile_id", "workspace_id"}

# Documented in OpenAI's guide to the computer tool, but missing in the types of its package.
UNTYPED = {"computer_screenshot": {"detail"}}


def forbid_unknown_keys() -> None:
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(("anthropic.types", "openai.types"))]
    for module in modules:
        for member in list(vars(module).values()):
            if isinstance(member, type) and is_typeddict(member):
                member.__pydantic_config__ = {"extra": "forbid", "arbitrary_types_allowed": True}


forbid_unknown_keys()
# One of the types declares its own extra keys, which causes a warning.
warnings.simplefilter("ignore")

ADAPTERS: dict[str, TypeAdapter] = {}


def adapter(kind: str) -> TypeAdapter:
    if kind not in ADAPTERS:
        ADAPTERS[kind] = TypeAdapter(BODIES[kind])
    return ADAPTERS[kind]


def problems(kind: str, body: bytes) -> list[str]:
    """Returns the errors of a body."""
    text = json.dumps(json.loads(body, object_hook=without_untyped))
    try:
        value = adapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        return explained(error)
    found = [f"unknown key {path}" for path in beside_the_model(value)]
    if kind.startswith("anthropic"):
        found += [f"{key} belongs into a header" for key in sorted(HEADERS & value.keys())]
    return found


def without_untyped(value: dict) -> dict:
    kind = value.get("type")
    untyped = UNTYPED.get(kind, set()) if isinstance(kind, str) else set()
    return {key: part for key, part in value.items() if key not in untyped}


def beside_the_model(value: object, path: str = "") -> Iterator[str]:
    """Yields the keys that were accepted only because a response model accepts any key."""
    if isinstance(value, BaseModel):
        yield from (f"{path}.{key}" for key in value.model_extra or ())
        value = value.__dict__
    if isinstance(value, dict):
        for key, part in value.items():
            yield from beside_the_model(part, f"{path}.{key}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from beside_the_model(part, f"{path}.{index}")


def explained(error: ValidationError) -> list[str]:
    """Returns the errors without those of union branches with another discriminator."""
    errors = error.errors()
    not_meant = {
        one["loc"][:-1]
        for one in errors
        if one["type"] == "literal_error" and one["loc"][-1] in ("type", "role")
    }
    meant = [
        one for one in errors if not any(one["loc"][:length] in not_meant for length in range(1, len(one["loc"])))
    ]
    return [f"{one['type']} at {place(one['loc'])}" for one in meant or errors]


def place(location: tuple) -> str:
    return ".".join(str(part) for part in location if "[" not in str(part))


def main() -> int:
    kind, *files = sys.argv[1:]
    found = {file: problems(kind, Path(file).read_bytes()) for file in files}
    for file, wrong in found.items():
        print(file, "; ".join(wrong) or "conforms")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
