"""Holds the body of a request against the types of the provider's own Python package, without any network.

    python sdk_requests.py KIND FILE...      prints what is wrong; ends with 1 if anything is

The packages describe requests as TypedDicts, and checking these as they are proves little: iterables are only looked at
when somebody iterates, unknown keys are dropped, and some unions hold models of *responses*, which allow anything. So
here, before the packages are imported, every iterable becomes a list; unknown keys are forbidden in every TypedDict; and
what was only accepted by such a model is looked for afterwards. That depends on how the packages are made: their versions
are pinned in tools/requirements.txt.

What types cannot say is not checked here: headers, pairs of calls and results, sizes of pictures.
"""

from __future__ import annotations

import json
import sys
import typing
import warnings
from collections.abc import Iterator
from pathlib import Path

# Before the packages are imported: pydantic looks into a list at once, and into an iterable never.
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

# In the types of Anthropic's package, but sent as headers: in a body they are refused.
HEADERS = {"betas", "user_profile_id", "workspace_id"}

# In OpenAI's guide to the computer tool, and missing in the types of its package.
UNTYPED = {"computer_screenshot": {"detail"}}


def forbid_unknown_keys() -> None:
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(("anthropic.types", "openai.types"))]
    for module in modules:
        for member in list(vars(module).values()):
            if isinstance(member, type) and is_typeddict(member):
                member.__pydantic_config__ = {"extra": "forbid", "arbitrary_types_allowed": True}


forbid_unknown_keys()
# One of the types says itself what else it may have.
warnings.simplefilter("ignore")

ADAPTERS: dict[str, TypeAdapter] = {}


def adapter(kind: str) -> TypeAdapter:
    if kind not in ADAPTERS:
        ADAPTERS[kind] = TypeAdapter(BODIES[kind])
    return ADAPTERS[kind]


def problems(kind: str, body: bytes) -> list[str]:
    """What is wrong with a body; empty if nothing."""
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
    """Keys that were accepted only because a model of a response allows any."""
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
    """The errors without those of the branches of a union that were never meant."""
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
