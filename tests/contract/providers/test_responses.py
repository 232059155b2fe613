"""Every response fixture of the Planner's tests is valid for the provider's own package."""

from __future__ import annotations

import json
from pathlib import Path

import anthropic
import openai
import pytest

import sdk_responses

FIXTURES = Path(__file__).resolve().parents[3] / "services/planner/tests/fixtures"
FILES = sorted(FIXTURES.glob("*/*.json"))

ERRORS = (anthropic.APIStatusError, openai.APIStatusError)


def status(file: Path) -> int:
    """Returns the status of a fixture: `name.json` is a success, `name.529.json` an error."""
    code = file.stem.rpartition(".")[2]
    return int(code) if code.isdigit() else 200


def ids(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


@pytest.mark.parametrize("file", [file for file in FILES if status(file) == 200], ids=ids)
def test_recorded_response_is_valid(file: Path) -> None:
    body = file.read_bytes()
    read = sdk_responses.read(file.parent.name, 200, body)
    assert list(sdk_responses.unknown_keys(read)) == []
    assert sdk_responses.wrong_computer_calls(body) == []


@pytest.mark.parametrize("file", [file for file in FILES if status(file) != 200], ids=ids)
def test_recorded_error_is_valid(file: Path) -> None:
    with pytest.raises(ERRORS) as raised:
        sdk_responses.read(file.parent.name, status(file), file.read_bytes())
    assert raised.value.status_code == status(file)
    # The package has extracted the provider's message, not only the status.
    assert json.loads(file.read_bytes())["error"]["message"] in str(raised.value)


def test_responses_of_every_provider_exist() -> None:
    assert {file.parent.name for file in FILES} == {"anthropic", "openai-responses", "openai-chat"}
