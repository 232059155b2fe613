"""The attacks of `tests/attacks.toml`: the list, its check, and what became of each by the results of the tests.

Each attack names the test that performs it. A test that performs many of a table has a row for each, and `case` is the text
that stands for it in the table.
"""

import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import PurePosixPath
from typing import NamedTuple

from linked_tests import ROOT, content, files, matching_files, test_problem
from test_programs import Program, ProgramResult

LIST = ROOT / "tests/attacks.toml"
MIN_ATTACKS = 120
FIELDS = {"attack", "refusal", "test"}

REFUSED = "refused"
NOT_REFUSED = "NOT REFUSED"
NOT_RUN = "DID NOT RUN"

# A test in the output of its program, with its result.
TEST_LINE = re.compile(r"^test (\S+) \.\.\. (\w+)", re.MULTILINE)


class Attack(NamedTuple):
    group: str
    attack: str
    refusal: str
    path: str
    function: str
    case: str | None


class Summary(NamedTuple):
    text: str
    every_test_ran: bool


def attacks() -> list[Attack]:
    found = []
    for group, rows in tomllib.loads(LIST.read_text(encoding="utf-8")).items():
        for row in rows:
            unknown = set(row) - FIELDS - {"case"} | FIELDS - set(row)
            if unknown:
                raise ValueError(f"{group}: {row}: fields that are missing or unknown: {', '.join(sorted(unknown))}")
            path, _, function = row["test"].partition("::")
            found.append(Attack(group, row["attack"], row["refusal"], path, function, row.get("case")))
    return found


def problems(listed: list[Attack]) -> list[str]:
    """Returns what is wrong with the list."""
    found = []
    if len(listed) < MIN_ATTACKS:
        found.append(f"it has {len(listed)} attacks, and at least {MIN_ATTACKS} are wanted")
    words = Counter((row.group, row.attack) for row in listed)
    found += [f"{group}: `{attack}` is there {times} times" for (group, attack), times in words.items() if times > 1]
    for row in listed:
        problem = test_problem(row.path, row.function) or case_problem(row)
        if problem:
            found.append(f"{row.group}: `{row.attack}`: {problem}")
    return found


def case_problem(row: Attack) -> str | None:
    """Returns what is wrong with the text that stands for an attack: it has to be in the file of the test or beside it."""
    if row.case is None:
        return None
    [name] = matching_files(row.path)
    package = package_of(name)
    if row.case in content(name) or any(row.case in text for text in texts(package)):
        return None
    return f"`{row.case}` is nowhere in {package}"


@cache
def package_of(name: str) -> str:
    """Returns the folder of the package that has a file."""
    known = set(files())
    parents = [str(parent) for parent in PurePosixPath(name).parents]
    return next(parent for parent in parents if f"{parent}/Cargo.toml" in known)


@cache
def texts(package: str) -> list[str]:
    suffixes = (".rs", ".toml", ".tsv", ".txt")
    return [content(name) for name in files() if name.startswith(f"{package}/") and name.endswith(suffixes)]


def belongs(row: Attack, program: Program, test: str) -> bool:
    """Returns whether a test of a program is the one that an attack names, by its package, file and function."""
    [name] = matching_files(row.path)
    *modules, function = test.split("::")
    if function != row.function or program.folder != str(ROOT / package_of(name)):
        return False
    file = PurePosixPath(name)
    module = file.parent.name if file.stem == "mod" else file.stem
    return module in ("main", "lib") or module in modules or module == program.name


def outcome(row: Attack, results: list[ProgramResult]) -> str:
    ended = [
        result
        for program in results
        for test, result in TEST_LINE.findall(program.output)
        if belongs(row, program.program, test)
    ]
    if "FAILED" in ended:
        return NOT_REFUSED
    return REFUSED if "ok" in ended else NOT_RUN


def summary(results: list[ProgramResult]) -> Summary:
    """Returns the number of attacks, with those that were not refused, by the results of all tests."""
    outcomes = [(row, outcome(row, results)) for row in attacks()]
    count = Counter(result for _, result in outcomes)
    lines = [f"\n{len(outcomes)} attacks, {count[REFUSED]} refused (`make attack` prints them)"]
    lines += [f"{result}: {row.attack} ({row.path}::{row.function})" for row, result in outcomes if result != REFUSED]
    return Summary("\n".join(lines), count[NOT_RUN] == 0)


def table(results: list[ProgramResult]) -> str:
    outcomes = [(row, outcome(row, results)) for row in attacks()]
    width = max(len(row.attack) for row, _ in outcomes)
    refusals = max(len(row.refusal) for row, _ in outcomes)
    lines = [f"{'attack':<{width + 2}}  {'expected refusal':<{refusals}}  result"]
    group = None
    for row, result in outcomes:
        if row.group != group:
            group = row.group
            lines += ["", group.replace("_", " ")]
        lines.append(f"  {row.attack:<{width}}  {row.refusal:<{refusals}}  {result}")
    count = Counter(result for _, result in outcomes)
    others = [f"{count[result]} {result.lower()}" for result in (NOT_REFUSED, NOT_RUN) if count[result]]
    lines += ["", ", ".join([f"{len(outcomes)} attacks", f"{count[REFUSED]} refused", *others])]
    return "\n".join(lines)
