"""Tests of the validators: each of these bodies has one error, which must be reported."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import anthropic
import openai
import pytest

import sdk_responses
from sdk_requests import problems

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}

ANTHROPIC = {
    "model": "claude-opus-5-5",
    "max_tokens": 8192,
    "system": [{"type": "text", "text": "…", "cache_control": {"type": "ephemeral"}}],
    "tools": [
        {"type": "computer_toolset_20260801"},
        {"name": "finish", "description": "d", "input_schema": {"type": "object", "properties": {}}},
    ],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Save."}, IMAGE]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "EuYB"},
                {
                    "type": "tool_use", "id": "toolu_1", "name": "left_click", "toolset_name": "computer",
                    "caller": {"type": "direct"}, "input": {"coordinate": [24, 12]},
                },
            ],
        },
        {
            "role": "user",
            "content": [{
                "type": "tool_result", "tool_use_id": "toolu_1", "toolset_name": "computer",
                "content": [{"type": "text", "text": "Done."}, IMAGE], "cache_control": {"type": "ephemeral"},
            }],
        },
    ],
}

BETA = {
    **ANTHROPIC,
    "model": "claude-opus-4-6",
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "medium"},
    "tools": [
        {"type": "computer_20251124", "name": "computer", "display_width_px": 1280, "display_height_px": 800, "enable_zoom": True}
    ],
}

RESPONSES = {
    "model": "gpt-5.6-sol",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "instructions": "…",
    "tools": [
        {"type": "computer"},
        {"type": "function", "name": "finish", "description": "d", "parameters": {"type": "object", "properties": {}}, "strict": False},
    ],
    "reasoning": {"effort": "low", "summary": "concise"},
    "max_output_tokens": 4096,
    "input": [
        {"role": "user", "content": [
            {"type": "input_text", "text": "Save."},
            {"type": "input_image", "detail": "original", "image_url": "data:image/png;base64,aGk="},
        ]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {
            "type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed", "pending_safety_checks": [],
            "actions": [{"type": "click", "button": "left", "x": 24, "y": 12}],
        },
        {
            "type": "computer_call_output", "call_id": "call_1",
            "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,aGk=", "detail": "original"},
        },
    ],
}

CHAT = {
    "model": "opencua-7b",
    "temperature": 0,
    "max_tokens": 2048,
    "messages": [
        {"role": "system", "content": "…"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]},
    ],
}

SOUND = {"anthropic": ANTHROPIC, "anthropic-beta": BETA, "openai-responses": RESPONSES, "openai-chat": CHAT}


@pytest.mark.parametrize("kind", SOUND)
def test_a_sound_body_conforms(kind: str) -> None:
    assert problems(kind, json.dumps(SOUND[kind]).encode()) == []


def setting(*path: object) -> Callable[[dict], None]:
    """Returns a change that sets the value at a path: `setting("a", 0, "b", 5)` is `body["a"][0]["b"] = 5`."""
    *way, key, value = path

    def change(body: dict) -> None:
        for part in way:
            body = body[part]
        body[key] = value

    return change


def removing(*path: object) -> Callable[[dict], None]:
    *way, key = path

    def change(body: dict) -> None:
        for part in way:
            body = body[part]
        del body[key]

    return change


WRONG = [
    ("anthropic", setting("temperature", 0.0), "temperature"),
    ("anthropic", setting("betas", ["x"]), "betas"),
    ("anthropic", removing("max_tokens"), "max_tokens"),
    ("anthropic", setting("messages", 0, "role", "robot"), "role"),
    ("anthropic", setting("messages", 0, "content", 1, "source", "media_type", "image/bmp"), "media_type"),
    ("anthropic", setting("messages", 0, "content", 1, "motorium_picture", {}), "motorium_picture"),
    ("anthropic", setting("messages", 2, "content", 0, "tool_use_id", 5), "tool_use_id"),
    ("anthropic", setting("messages", 2, "content", 0, "tool_id", "toolu_1"), "tool_id"),
    ("anthropic", setting("messages", 2, "content", 0, "is_error", "yes"), "is_error"),
    ("anthropic", setting("tools", 0, "display_width_px", 1280), "display_width_px"),
    ("anthropic", setting("tools", 0, "type", "computer_20990101"), "tools"),
    ("anthropic", setting("tools", 1, "parameters", {}), "parameters"),
    ("anthropic", setting("system", 0, "cache_control", "type", "for_ever"), "system"),
    ("anthropic-beta", removing("tools", 0, "display_width_px"), "display_width_px"),
    ("anthropic-beta", setting("tools", 0, "zoom", True), "zoom"),
    ("anthropic-beta", setting("output_config", "effort", "immense"), "effort"),
    ("anthropic-beta", setting("thinking", "type", "deep"), "thinking"),
    ("openai-responses", setting("messages", []), "messages"),
    ("openai-responses", setting("tools", 0, "display_width", 1280), "display_width"),
    ("openai-responses", setting("input", 0, "content", 1, "detail", "sharp"), "detail"),
    ("openai-responses", setting("input", 0, "content", 0, "type", "text"), "content"),
    ("openai-responses", setting("input", 3, "output", "type", "input_image"), "input"),
    ("openai-responses", setting("input", 3, "current_url", "https://example.com"), "current_url"),
    ("openai-responses", removing("input", 3, "call_id"), "call_id"),
    ("openai-responses", setting("input", 2, "actions", 0, "button", "middle"), "button"),
    ("openai-responses", setting("include", ["everything"]), "include"),
    ("openai-chat", setting("messages", 1, "content", 0, "image_url", "data:image/png;base64,aGk="), "image_url"),
    ("openai-chat", setting("messages", 0, "role", "robot"), "role"),
    ("openai-chat", setting("max_tokens", "many"), "max_tokens"),
    ("openai-chat", setting("input", "x"), "input"),
]


@pytest.mark.parametrize(("kind", "change", "named"), WRONG, ids=[f"{kind}-{number}-{named}" for number, (kind, _, named) in enumerate(WRONG)])
def test_a_wrong_body_is_named(kind: str, change: Callable[[dict], None], named: str) -> None:
    body = copy.deepcopy(SOUND[kind])
    change(body)
    found = problems(kind, json.dumps(body).encode())
    assert any(named in problem for problem in found), found


MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
    "content": [{"type": "text", "text": "t"}], "stop_reason": "end_turn", "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}

RESPONSE = {
    "id": "resp_1", "object": "response", "created_at": 1763683200, "status": "completed", "model": "gpt-5.6-sol",
    "output": [{
        "type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed", "pending_safety_checks": [],
        "actions": [{"type": "wait"}],
    }],
    "parallel_tool_calls": True, "tool_choice": "auto", "tools": [{"type": "computer"}],
}

ANSWERS = {"anthropic": MESSAGE, "openai-responses": RESPONSE}
REFUSED = (anthropic.APIResponseValidationError, openai.APIResponseValidationError)

WRONG_ANSWERS = [
    ("anthropic", setting("stop_reason", "tired")),
    ("anthropic", removing("usage")),
    ("anthropic", setting("content", 0, "type", "poem")),
    ("openai-responses", setting("output", 0, "actions", 0, "type", "fly")),
    ("openai-responses", removing("output", 0, "id")),
    ("openai-responses", removing("output", 0, "pending_safety_checks")),
]


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_sound_answer_is_read(kind: str) -> None:
    read = sdk_responses.read(kind, 200, json.dumps(ANSWERS[kind]).encode())
    assert list(sdk_responses.unknown_keys(read)) == []


@pytest.mark.parametrize(("kind", "change"), WRONG_ANSWERS)
def test_a_wrong_answer_is_refused(kind: str, change: Callable[[dict], None]) -> None:
    body = copy.deepcopy(ANSWERS[kind])
    change(body)
    with pytest.raises(REFUSED):
        sdk_responses.read(kind, 200, json.dumps(body).encode())


def test_unknown_key_is_found() -> None:
    body = {**MESSAGE, "mood": "good"}
    read = sdk_responses.read("anthropic", 200, json.dumps(body).encode())
    assert list(sdk_responses.unknown_keys(read)) == [".mood"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("left_click", {"coordinate": ["a", 1]}),
        ("left_click", {"coordinate": [1.5, 2]}),
        ("left_click", {"coord": [1, 2]}),
        ("scroll", {"scroll_direction": "diagonal", "scroll_amount": 3}),
        ("clickk", {}),
    ],
)
def test_invalid_computer_call_is_found(name: str, arguments: dict) -> None:
    call = {"type": "tool_use", "id": "t", "name": name, "toolset_name": "computer", "caller": {"type": "direct"}, "input": arguments}
    assert sdk_responses.wrong_computer_calls(json.dumps({"content": [call]}).encode()) != []
