"""From the name that an icon set gives an icon to what it means."""

import json
import re
from pathlib import Path

_TABLE: dict[str, list[str]] = json.loads((Path(__file__).parent / "meanings.json").read_text())["meanings"]

MEANINGS: list[str] = list(_TABLE)

_MEANING_OF = {name: index for index, names in enumerate(_TABLE.values()) for name in names}

_DRAWN = frozenset("outline outlined line lined fill filled solid regular light thin bold sharp rounded round duotone symbolic simple alt o s".split())
"""Words that say how something is drawn, not what it is."""

_AROUND = frozenset(("circle", "ios", "md"))
"""Likewise, where they come first or last."""

_WORDS = frozenset(word for name in _MEANING_OF for word in name.split("-"))


def meaning_of(name: str) -> int | None:
    """The index of what `name` means; none if the table does not know it."""
    words = _split(name)
    while words:
        known = _MEANING_OF.get("-".join(words))
        if known is not None:
            return known
        if words[-1] in _DRAWN or words[-1].isdigit() or words[-1] in _AROUND:
            words.pop()
        elif words[0] in _AROUND:
            words.pop(0)
        else:
            return None
    return None


def is_something_else(name: str) -> bool:
    """Whether it is surely none of the meanings: no word of it occurs in any of their names.

    Many an icon of another name looks like one of ours, so only these are learnt as something else.
    """
    return not any(word in _WORDS for word in _split(name) if word not in _DRAWN and not word.isdigit())


def _split(name: str) -> list[str]:
    return [word for word in re.split(r"[-_ ]+", name.lower()) if word]
