"""The test programs of the workspace: builds, finds and runs them as `cargo test` does."""

import json
import os
import re
import signal
import subprocess
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, NamedTuple

from repository import ROOT

VENV = ROOT / ".tools/venv/bin"
# Folder in which the Planner's tests store their requests.
REQUESTS = ROOT / "target/provider-requests"

# Several times what the slowest test program takes.
PROGRAM_LIMIT_SECONDS = 30 * 60

# CI requires an up-to-date lock file; on a developer's machine cargo updates it.
LOCKED = ["--locked"] if os.environ.get("CI") else []

# The optional drivers are tested and linted as well. The features are those of the alias `cargo t`, so that a test run by
# hand is not built anew.
TEST_ALIAS = tomllib.loads((ROOT / ".cargo/config.toml").read_text())["alias"]["t"]
EVERY_DRIVER = next(word for word in TEST_ALIAS.split() if word.startswith("--features="))

# Test programs that judge what a display shows while it changes. They run alone, one after the other.
RUNS_ALONE = {"display", "e2e"}
# Other test programs that run at the same time: as many as the smallest machine has cores. Those of the X11 driver mostly
# wait for applications.
PROGRAMS_AT_ONCE = 2
# Test programs that drive real applications on a display, or the whole loop against times. A test of theirs that fails is run
# once more, alone: on a loaded machine an application can take longer than any time that a test can reasonably wait. More
# failures than this are a fault.
DEPENDS_ON_TIMES = {"display", "e2e", "x11", "loop"}
MAX_UNSTABLE_TESTS = 3
SLOW_PROGRAMS = ["x11", "loop", "model", "planner"]

FAILED_TEST = re.compile(r"^test (\S+) \.\.\. FAILED\b.*$", re.MULTILINE)
PASSED_ONE = re.compile(r"^test result: ok\. 1 passed", re.MULTILINE)


class Program(NamedTuple):
    """A built test program."""

    package: str
    name: str
    path: str
    folder: str

    @property
    def label(self) -> str:
        return f"{self.package}::{self.name}"


class ProgramResult(NamedTuple):
    program: Program
    status: int
    seconds: float
    output: str


def cargo(*arguments: str) -> list[str]:
    return ["cargo", arguments[0], *LOCKED, *arguments[1:]]


# The programs of the product together with the tests: alone they would have other features, and be built twice. The
# examples are programs that the tests of the kit and of the training start.
BUILD = cargo("build", "--workspace", "--bins", "--tests", "--example=minimal", "--example=detect_boxes", EVERY_DRIVER)


def test_programs(env: dict[str, str]) -> list[Program] | None:
    """Asks cargo for the test programs; builds what is missing. None if it does not build."""
    built = subprocess.run(
        [*BUILD, "--quiet", "--message-format=json-render-diagnostics"],
        cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
    )
    if built.returncode:
        return None
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    programs = []
    for message in messages:
        if message.get("reason") != "compiler-artifact" or not message["profile"]["test"] or not message["executable"]:
            continue
        manifest = Path(message["manifest_path"])
        programs.append(
            Program(manifest.parent.name, message["target"]["name"], message["executable"], str(manifest.parent))
        )
    return programs


def run_program(program: Program, env: dict[str, str], tests: list[str]) -> ProgramResult:
    """Runs one test program as `cargo test` does: in the folder of its package, with the manifest's folder in the environment.
    Runs only these tests, if there are any."""
    # Times of single tests are an unstable option of the test harness, which this variable permits.
    # End-to-end tests would otherwise have the programs built once more, with other features.
    target = env.get("CARGO_TARGET_DIR") or str(ROOT / "target")
    env = env | {
        "CARGO_MANIFEST_DIR": program.folder, "RUSTC_BOOTSTRAP": "1", "MOTORIUM_PROGRAMS": f"{target}/debug",
    }
    started = time.monotonic()
    process = subprocess.Popen(
        [program.path, "-Zunstable-options", "--report-time", *(["--exact", *tests] if tests else [])],
        cwd=program.folder, env=env, text=True, errors="replace", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    try:
        output, _ = process.communicate(timeout=PROGRAM_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        end_group(process)
        output, _ = process.communicate()
        output += f"ended after {PROGRAM_LIMIT_SECONDS} s, which is more than a test program may take\n"
    finally:
        # Nothing that a test started outlives its program.
        end_group(process)
    return ProgramResult(program, process.returncode, time.monotonic() - started, output)


def run_all(
    programs: list[Program], env: dict[str, str], ended: Callable[[ProgramResult], None], tests: dict[Program, list[str]] | None = None,
) -> None:
    """Runs programs, and calls `ended` with the result of each from the thread that ran it. Of a program for which `tests` names
    some, only these are run."""
    alone = [program for program in programs if program.name in RUNS_ALONE]
    others = [program for program in programs if program.name not in RUNS_ALONE]
    # The longest first, so that none of them is left over for one core at the end.
    others.sort(key=lambda program: SLOW_PROGRAMS.index(program.name) if program.name in SLOW_PROGRAMS else len(SLOW_PROGRAMS))
    for group, at_once in ((others, PROGRAMS_AT_ONCE), (alone, 1)):
        with ThreadPoolExecutor(max_workers=at_once) as pool:
            list(pool.map(lambda program: ended(run_program(program, env, (tests or {}).get(program, []))), group))


def run_failed_again(results: list[ProgramResult], env: dict[str, str]) -> tuple[list[ProgramResult], list[str], str]:
    """Runs the tests that failed once more, each alone, if they are few and depend on times.

    Returns the results, in which a test that passed now is one that passed; the names of these tests; and the output of the runs.
    """
    failed = {result: FAILED_TEST.findall(result.output) for result in results if result.status}
    are_few = 0 < sum(map(len, failed.values())) <= MAX_UNSTABLE_TESTS
    # A program that failed without a failed test has crashed, and nothing is known about the rest of its tests.
    if not are_few or not all(tests and result.program.name in DEPENDS_ON_TIMES for result, tests in failed.items()):
        return results, [], ""
    unstable, output = [], ""
    for result, tests in failed.items():
        passed = []
        for test in tests:
            again = run_program(result.program, env, [test])
            output += f"\n--- {result.program.label} {test}, once more and alone ({again.seconds:.1f} s)\n{again.output}"
            if again.status == 0 and PASSED_ONE.search(again.output):
                passed.append(test)
        unstable += [f"{result.program.label} {test}" for test in passed]
        mended = FAILED_TEST.sub(lambda line: line[0].replace("FAILED", "ok") if line[1] in passed else line[0], result.output)
        status = 0 if len(passed) == len(tests) else result.status
        results = [result._replace(output=mended, status=status) if other is result else other for other in results]
    return results, unstable, output


def environment() -> dict[str, str]:
    """Returns the environment: tools of this checkout first, the installed models, and no access to a display."""
    env = dict(os.environ)
    data_home = env.get("XDG_DATA_HOME") or str(Path.home() / ".local/share")
    env.setdefault("MOTORIUM_DATA", f"{data_home}/motorium")
    cargo_home = env.get("CARGO_HOME") or str(Path.home() / ".cargo")
    env["PATH"] = os.pathsep.join([str(ROOT / ".tools/bin"), str(VENV), env["PATH"], f"{cargo_home}/bin"])
    env.setdefault("MOTORIUM_CONTRACT_DIR", str(REQUESTS))
    # Duration of fuzzing the parsers of model responses (services/planner/fuzz).
    env.setdefault("MOTORIUM_FUZZ_SECONDS", "10")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"):
        env.pop(name, None)
    return env


def end_group(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
