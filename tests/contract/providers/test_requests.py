"""Every request that the Planner's tests sent to a provider conforms to the types of the provider's own package.

The tests store the requests in MOTORIUM_CONTRACT_DIR, as KIND--NAME.json; `tools/test tests providers` runs both stages.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sdk_requests import BODIES, problems

ROOT = Path(__file__).resolve().parents[3]
STORED = Path(os.environ.get("MOTORIUM_CONTRACT_DIR", ROOT / "target/provider-requests"))
FILES = sorted(STORED.glob("*.json"))


def kind(file: Path) -> str:
    return file.name.partition("--")[0]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_conforms(file: Path) -> None:
    assert problems(kind(file), file.read_bytes()) == []


def test_requests_of_every_kind_were_stored() -> None:
    stored = {kind(file) for file in FILES}
    assert stored == set(BODIES), f"in {STORED}; run `tools/test tests providers`"
