"""The attacks of `tests/attacks.toml`: the list, its check, and what became of each by the results of the tests.

Each attack names the test that performs it. A test that performs many of a table has a row for each, and `case` is the text
that stands for it in the table: in the test, in an item of its file that the test uses, or in a file that the test's file names.
"""

import os
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import PurePosixPath
from typing import NamedTuple

from linked_tests import DECLARATIONS, matching_files, test_problem
from repository import ROOT, content, files
from test_programs import Program, ProgramResult

LIST = ROOT / "tests/attacks.toml"
FIELDS = {"attack", "refusal", "test"}
# A shorter text is found anywhere. One in quotes is a whole value.
MIN_CASE = 4

REFUSED = "refused"
NOT_REFUSED = "NOT REFUSED"
NOT_RUN = "DID NOT RUN"
NEEDS_ROOT = "DID NOT RUN (needs root)"

# An item that a test may use, at the beginning of its line.
ITEM = re.compile(r"^[ \t]*(?:pub(?:\([\w:]+\))? |const |async |static |export )*(?:fn|struct|enum|static|const|def|function) (\w+)", re.MULTILINE)
# A data file or a module, as code names it.
NAMED_FILE = re.compile(r"[\w./-]+\.(?:toml|tsv|txt|html|json)")
NAMED_MODULE = re.compile(r"::(\w+)")

# A test that attacks as another user returns at once where it cannot, and its program reports it as passed.
RETURNS_WITHOUT_ROOT = re.compile(r"is_root\(\)\)?;?\s*\{?\s*return\b")

# A test in the output of its program, with its result.
TEST_LINE = re.compile(r"^test (\S+) \.\.\. (\w+)", re.MULTILINE)
# A test in the summary of pytest (`-rA`), with its result.
PYTEST_LINE = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED) (\S+?)::(\w+)", re.MULTILINE)


class Attack(NamedTuple):
    group: str
    attack: str
    refusal: str
    path: str
    function: str
    case: str | None

    @property
    def is_python(self) -> bool:
        """Returns whether pytest runs the test."""
        return self.path.endswith(".py")


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
    words = Counter((row.group, row.attack) for row in listed)
    found += [f"{group}: `{attack}` is there {times} times" for (group, attack), times in words.items() if times > 1]
    for row in listed:
        problem = test_problem(row.path, row.function) or case_problem(row)
        if problem:
            found.append(f"{row.group}: `{row.attack}`: {problem}")
    return found


def case_problem(row: Attack) -> str | None:
    """Returns what is wrong with the text that stands for an attack."""
    if row.case is None:
        return None
    if len(row.case) < MIN_CASE and not row.case.startswith('"'):
        return f"the case `{row.case}` has fewer than {MIN_CASE} characters, and may stand for anything"
    [name] = matching_files(row.path)
    if row.case in used_code(name, row.function) or any(row.case in content(file) for file in named_files(name)):
        return None
    return f"`{row.case}` is neither in the test, nor in what it uses of {name}, nor in a file that this one names"


@cache
def used_code(name: str, function: str) -> str:
    """Returns a test and the items of its file that it uses, also by way of others."""
    text = content(name)
    test = re.search(DECLARATIONS[PurePosixPath(name).suffix].format(re.escape(function)), text)
    items = {match[1]: match.start(1) for match in ITEM.finditer(text)}
    used = {function: block(text, test.start())}
    waiting = [used[function]]
    while waiting:
        for word in set(re.findall(r"\w+", waiting.pop())) & items.keys() - used.keys():
            used[word] = block(text, items[word])
            waiting.append(used[word])
    return "\n".join(used.values())


def block(text: str, position: int) -> str:
    """Returns the item at a position: up to the line that closes it, which is indented like its first one."""
    start = text.rfind("\n", 0, position) + 1
    first = text[start : text.find("\n", start)]
    if first.endswith(";"):
        return first
    indent = first[: len(first) - len(first.lstrip())]
    closing = re.compile(rf"^{indent}[\])}}](?!.*\{{$)", re.MULTILINE).search(text, start + len(first))
    return text[start : closing.end()] if closing else text[start:]


@cache
def named_files(name: str) -> list[str]:
    """Returns the data files and modules of a package that a file of it names."""
    text = content(name)
    data = {PurePosixPath(file).name for file in NAMED_FILE.findall(text)}
    modules = {f"{module}.rs" for module in NAMED_MODULE.findall(text)}
    package = package_of(name)
    return [file for file in files() if file.startswith(f"{package}/") and PurePosixPath(file).name in data | modules]


@cache
def package_of(name: str) -> str:
    """Returns the folder of the package that has a file."""
    known = set(files())
    parents = [str(parent) for parent in PurePosixPath(name).parents]
    return next(parent for parent in parents if f"{parent}/Cargo.toml" in known)


def belongs(row: Attack, program: Program, test: str) -> bool:
    """Returns whether a test of a program is the one that an attack names, by its package, file and function."""
    [name] = matching_files(row.path)
    *modules, function = test.split("::")
    if function != row.function or program.folder != str(ROOT / package_of(name)):
        return False
    file = PurePosixPath(name)
    module = file.parent.name if file.stem == "mod" else file.stem
    return module in ("main", "lib") or module in modules or module == program.name


def python_outcome(row: Attack, results: list[ProgramResult]) -> str:
    """Returns what became of an attack by a test of pytest, which may have run with several parameters."""
    [name] = matching_files(row.path)
    lines = [line for program in results for line in PYTEST_LINE.findall(program.output)]
    ended = {result for result, file, function in lines if (file, function) == (name, row.function)}
    if ended & {"FAILED", "ERROR"}:
        return NOT_REFUSED
    return REFUSED if ended == {"PASSED"} else NOT_RUN


def outcome(row: Attack, results: list[ProgramResult]) -> str:
    if row.is_python:
        return python_outcome(row, results)
    ended = [
        result
        for program in results
        for test, result in TEST_LINE.findall(program.output)
        if belongs(row, program.program, test)
    ]
    if "FAILED" in ended:
        return NOT_REFUSED
    if "ok" not in ended:
        return NOT_RUN
    return NEEDS_ROOT if needs_root(row) and os.geteuid() != 0 else REFUSED


def needs_root(row: Attack) -> bool:
    """Returns whether the test of an attack does nothing unless it runs as root."""
    [name] = matching_files(row.path)
    return RETURNS_WITHOUT_ROOT.search(used_code(name, row.function)) is not None


def summary(results: list[ProgramResult]) -> Summary:
    """Returns the number of attacks, with those that were not refused, by the results of all test programs. The tests of pytest are
    stages of their own, which fail by themselves."""
    outcomes = [(row, outcome(row, results)) for row in attacks() if not row.is_python]
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
    others = [f"{count[result]} {result.lower()}" for result in (NOT_REFUSED, NOT_RUN, NEEDS_ROOT) if count[result]]
    lines += ["", ", ".join([f"{len(outcomes)} attacks", f"{count[REFUSED]} refused", *others])]
    return "\n".join(lines)
