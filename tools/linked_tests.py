"""Tests that documents name as `path::function`, where the path is the end of exactly one file's path, from a folder or a file
name on."""

import re
from functools import cache
from pathlib import Path

from repository import content, files

# Declarations of a test function, by the kind of file.
DECLARATIONS = {
    ".rs": r"\bfn {}\b",
    ".py": r"\bdef {}\b",
    ".ts": r"\b(?:test|it)\(\s*[\"'`]{}\b",
    ".tsx": r"\b(?:test|it)\(\s*[\"'`]{}\b",
    ".go": r"\bfunc {}\b",
}


@cache
def matching_files(path: str) -> list[str]:
    return [name for name in files() if f"/{name}".endswith(f"/{path}")]


def test_problem(path: str, function: str) -> str | None:
    """Returns what is wrong with a linked test."""
    matching = matching_files(path)
    if len(matching) != 1:
        return f"`{path}` is the end of {len(matching)} paths instead of one: {', '.join(matching) or 'none'}"
    declaration = DECLARATIONS.get(Path(path).suffix)
    if declaration is None or not re.search(declaration.format(function), content(matching[0])):
        return f"there is no test `{function}` in {matching[0]}"
    return None
