"""Maps the icon names of icon sets to meanings."""

import json
import re
from pathlib import Path

_TABLE: dict[str, list[str]] = json.loads((Path(__file__).parent / "meanings.json").read_text())["meanings"]

MEANINGS: list[str] = list(_TABLE)

_MEANING_OF = {name: index for index, names in enumerate(_TABLE.values()) for name in names}

_DRAWN = frozenset("outline outlined line lined fill filled solid regular light thin bold sharp rounded round duotone symbolic simple alt o s".split())
"""Words that describe the drawing style, not the meaning."""

_AROUND = frozenset(("circle", "ios", "md"))
"""The same, as first or last word."""

_WORDS = frozenset(word for name in _MEANING_OF for word in name.split("-"))


def meaning_of(name: str) -> int | None:
    """Returns the index of the meaning of `name`; `None` if unknown."""
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
    """Returns whether the name certainly has none of the meanings: it shares no word with any of their names.

    Icons with other names often look like known ones, so only these are trained as "other".
    """
    return not any(word in _WORDS for word in _split(name) if word not in _DRAWN and not word.isdigit())


def _split(name: str) -> list[str]:
    return [word for word in re.split(r"[-_ ]+", name.lower()) if word]
