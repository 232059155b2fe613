"""The repository: its folder, its files and their contents."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@cache
def files() -> list[str]:
    """Returns the paths of all files that are tracked or not ignored, from the root."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    return subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


@cache
def content(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")
