#!/usr/bin/env python3
"""Compares Perception with other OCR engines on screens with known text, all engines in one run.

    tools/setup test && cargo programs && .tools/venv/bin/python clients/python/generate.py
    .tools/venv/bin/python tests/bench/ocr_peers.py [--program PATH] [--rounds 3] [--screens form chat] [--engines ours]
                                                       [--save FOLDER]

    ours             motorium-perception as a server, called with Parse and the bytes of a PNG over the loopback address
    rapidocr         rapidocr-onnxruntime with its defaults
    rapidocr, tuned  without the text direction classifier, and with batches of one line, which need no padding
    tesseract        Debian's tesseract-ocr with tesseract-ocr-chi-sim, if it is installed: English and simplified Chinese

Chromium draws screens of 1920×1080, identical for the same seed, and confirms that each known string is fully visible on
one line. Every engine is a separate process, restarted for each round and warmed up with an extra screen; then the engines
take turns at each screen. Start and warm-up are not counted, except for tesseract, a command that starts for every
screenshot. The rapidocr packages are installed into .tools/peers on the first run.

A string counts as found if it is within one recognised line; spaces and character width are ignored, and no known string
is a substring of another on its screen. The error is the edit distance to the closest part of any line, divided by the
length of the string. A string with Chinese characters is Chinese, every other is English.

Caching is not measured: all figures are cold. Perception caches recognised text, so no screen is shown twice to a process,
and every screen has its own background colour throughout. Positions and false positives are not measured either. Compare
times only from an idle machine (see the printed load average): other work slows some engines more than others.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import grpc

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python/src"))

import motorium  # noqa: E402
from foundation import demo_module  # noqa: E402
from known_screens import SCREENS, SIZE, WARM_UP, DrawnScreen, draw, plain  # noqa: E402
from motorium.common.v1 import frame_pb2 as frames  # noqa: E402
from motorium.perception.v1 import perception_service_pb2 as eye  # noqa: E402
from motorium.perception.v1 import perception_service_pb2_grpc as eye_grpc  # noqa: E402

PEERS = ROOT / ".tools/peers"
# rapidocr-onnxruntime with all dependencies; nothing else is resolved. It requires opencv-python; the headless package is
# the same without GUI support.
PINS = """
rapidocr-onnxruntime==1.4.4 onnxruntime==1.31.1 opencv-python-headless==5.0.0.93 numpy==2.4.6 pillow==13.0.0
pyclipper==1.4.0 shapely==2.2.0 PyYAML==6.0.3 flatbuffers==25.12.19 packaging==26.3 protobuf==7.36.2 six==1.17.0
tqdm==4.70.1
""".split()
START_SECONDS, READ_SECONDS = 60, 120
# Threads of some engines spin for a moment after the result and would slow down the next engine.
REST_SECONDS = 0.1

# --- Engines ---


class Engine(Protocol):
    """An engine that is ready to recognise text."""

    def read(self, screenshot: Path) -> list[str]:
        """Returns the text lines of a screenshot."""

    def cpu_seconds(self) -> float:
        """Returns the CPU seconds since the start, user and system."""

    def peak(self) -> float:
        """Returns the peak memory in MiB."""


Start = Callable[[], AbstractContextManager[Engine]]


class Resident:
    """An engine in a long-running process with its children."""

    def __init__(self, process: subprocess.Popen, read: Callable[[Path], list[str]]) -> None:
        self.pid = process.pid
        self.read = read

    def cpu_seconds(self) -> float:
        return sum(cpu_ticks(pid) for pid in family(self.pid)) / os.sysconf("SC_CLK_TCK")

    def peak(self) -> float:
        return sum(high_water(pid) for pid in family(self.pid)) / 1024


def family(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for task in tasks for child in task.read_text().split()]
    return [pid, *(one for child in children for one in family(child))]


def cpu_ticks(pid: int) -> int:
    """Returns the CPU ticks of a process and its ended children."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, after_name[11:15]))


def high_water(pid: int) -> int:
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1))


class Tesseract:
    """A new process for every screenshot."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.kibibytes = 0

    def read(self, screenshot: Path) -> list[str]:
        command = ["tesseract", str(screenshot), "stdout", "-l", "eng+chi_sim", "--psm", "3"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            text = process.stdout.read().decode()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"tesseract ended with {process.returncode}; does `tesseract --list-langs` have eng and chi_sim?")
        self.seconds += usage.ru_utime + usage.ru_stime
        self.kibibytes = max(self.kibibytes, usage.ru_maxrss)
        return text.splitlines()

    def cpu_seconds(self) -> float:
        return self.seconds

    def peak(self) -> float:
        return self.kibibytes / 1024


@contextmanager
def tesseract() -> Iterator[Engine]:
    yield Tesseract()


@contextmanager
def running(command: list[str], **options: object) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def ours(program: Path) -> Iterator[Engine]:
    demo = demo_module()
    [port] = demo.free_ports(1)
    address = f"127.0.0.1:{port}"
    environment = {k: v for k, v in os.environ.items() if k != "DISPLAY" and not k.startswith("MOTORIUM_")}
    # The other engines only recognise text.
    environment["MOTORIUM_PERCEPTION__DETECTOR"] = "none"
    with tempfile.TemporaryDirectory(prefix="motorium-bench-", ignore_cleanup_errors=True) as state, ExitStack() as stack:
        demo.link_models(Path(state))
        log = Path(state) / "perception.log"
        command = [str(program), "--data", state, "--set", f"perception.listen={address}"]
        with log.open("wb") as sink:
            quiet = running(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, env=environment)
            process = stack.enter_context(quiet)
        channel = stack.enter_context(motorium.connect(address))
        try:
            grpc.channel_ready_future(channel).result(timeout=START_SECONDS)
        except grpc.FutureTimeoutError:
            sys.exit(f"Perception did not start; its log:\n{log.read_text(errors='replace')}")
        stub = eye_grpc.PerceptionServiceStub(channel)
        yield Resident(process, lambda screenshot: parse(stub, screenshot.read_bytes()))


def parse(stub: eye_grpc.PerceptionServiceStub, png: bytes) -> list[str]:
    sha256 = hashlib.sha256(png).digest()
    image = frames.Image(data=png, media_type="image/png", width=SIZE[0], height=SIZE[1], sha256=sha256)
    answer = stub.Parse(eye.ParseRequest(image=image), timeout=READ_SECONDS)
    return [element.content for element in answer.scene.elements]


# Runs in .tools/peers: reads paths, prints the text lines of each as JSON.
RAPIDOCR = """
import json, sys
from rapidocr_onnxruntime import RapidOCR
engine = RapidOCR(**json.loads(sys.argv[1]))
for path in sys.stdin:
    found, _ = engine(path.rstrip())
    print(json.dumps([text for _, text, _ in found or []]), flush=True)
"""


@contextmanager
def rapidocr(python: Path, **options: object) -> Iterator[Engine]:
    command = [str(python), "-c", RAPIDOCR, json.dumps(options)]
    pipe = subprocess.PIPE
    with running(command, stdin=pipe, stdout=pipe, text=True) as process:
        def read(screenshot: Path) -> list[str]:
            print(screenshot, file=process.stdin, flush=True)
            answer = process.stdout.readline() or sys.exit("rapidocr has ended; see its output above")
            return json.loads(answer)
        yield Resident(process, read)


def python_of_peers() -> Path:
    python, stamp = PEERS / "bin/python", PEERS / "pins"
    if stamp.exists() and stamp.read_text().split() == PINS:
        return python
    note("installing rapidocr into .tools/peers …")
    venv.create(PEERS, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--no-deps", "--only-binary=:all:", *PINS], check=True)
    stamp.write_text("\n".join(PINS))
    return python


ENGINES = ["ours", "rapidocr", "rapidocr, tuned", "tesseract"]


def engines(program: Path, wanted: list[str]) -> dict[str, Start]:
    if "tesseract" in wanted and not shutil.which("tesseract"):
        print("tesseract is not installed (Debian: tesseract-ocr, tesseract-ocr-chi-sim), its row is omitted\n")
        wanted = [name for name in wanted if name != "tesseract"]
    python = python_of_peers() if any(name.startswith("rapidocr") for name in wanted) else None
    starts: dict[str, Start] = {
        "ours": lambda: ours(program),
        "rapidocr": lambda: rapidocr(python),
        "rapidocr, tuned": lambda: rapidocr(python, use_cls=False, rec_batch_num=1),
        "tesseract": tesseract,
    }
    return {name: starts[name] for name in wanted}


# --- Measuring ---


class Take(NamedTuple):
    milliseconds: float
    lines: list[str]


class Sitting(NamedTuple):
    """Results of one engine in one round."""

    takes: dict[str, Take]
    cpu_seconds: float
    peak_mebibytes: float


def sit(starts: dict[str, Start], warm_up: DrawnScreen, screens: list[DrawnScreen]) -> dict[str, Sitting]:
    with ExitStack() as stack:
        ready = {name: stack.enter_context(start()) for name, start in starts.items()}
        for engine in ready.values():
            engine.read(warm_up.path)
        before = {name: engine.cpu_seconds() for name, engine in ready.items()}
        takes: dict[str, dict[str, Take]] = {name: {} for name in ready}
        for index, screen in enumerate(screens):
            # The order rotates, so that no engine always follows the same other one.
            first = index % len(ready)
            for name in [*ready, *ready][first:first + len(ready)]:
                time.sleep(REST_SECONDS)
                takes[name][screen.name] = take(ready[name], screen)
        time.sleep(REST_SECONDS)
        return {name: Sitting(takes[name], one.cpu_seconds() - before[name], one.peak()) for name, one in ready.items()}


def take(engine: Engine, screen: DrawnScreen) -> Take:
    began = time.perf_counter()
    lines = engine.read(screen.path)
    return Take((time.perf_counter() - began) * 1000, lines)


class Score(NamedTuple):
    """Score of the strings of one or several screens."""

    # Found and total, per language.
    english: tuple[int, int]
    chinese: tuple[int, int]
    errors: list[float]
    missed: list[str]


def score(known: list[str], lines: list[str]) -> Score:
    read = [plain(line) for line in lines]
    errors = {text: error_rate(plain(text), read) for text in known}

    def count(texts: list[str]) -> tuple[int, int]:
        return sum(errors[text] == 0 for text in texts), len(texts)
    in_chinese = [text for text in known if is_chinese(text)]
    in_english = [text for text in known if not is_chinese(text)]
    return Score(count(in_english), count(in_chinese), list(errors.values()), [text for text in known if errors[text]])


def scores_of(sitting: Sitting, screens: list[DrawnScreen]) -> dict[str, Score]:
    return {one.name: score(one.known, sitting.takes[one.name].lines) for one in screens}


def together(scores: list[Score]) -> Score:
    def add(pairs: list[tuple[int, int]]) -> tuple[int, int]:
        return sum(found for found, _ in pairs), sum(of for _, of in pairs)
    errors = [error for one in scores for error in one.errors]
    return Score(add([one.english for one in scores]), add([one.chinese for one in scores]), errors, [])


def is_chinese(text: str) -> bool:
    return any("\u4e00" <= sign <= "\u9fff" for sign in text)


def error_rate(sought: str, lines: list[str]) -> float:
    if any(sought in line for line in lines):
        return 0.0
    return min((nearest_part(sought, line) for line in lines), default=len(sought)) / len(sought)


def nearest_part(sought: str, line: str) -> int:
    """Returns the minimum edit distance of `sought` to any part of `line`: Myers' bit-parallel algorithm (J. ACM 46, 1999)."""
    every = (1 << len(sought)) - 1
    last = 1 << (len(sought) - 1)
    places: dict[str, int] = {}
    for index, sign in enumerate(sought):
        places[sign] = places.get(sign, 0) | 1 << index
    rises, falls, distance, min_distance = every, 0, len(sought), len(sought)
    for sign in line:
        equal = places.get(sign, 0)
        diagonal = (((equal & rises) + rises) ^ rises) | equal | falls
        up, down = falls | ~(diagonal | rises) & every, rises & diagonal
        distance += bool(up & last) - bool(down & last)
        min_distance = min(min_distance, distance)
        up, down = up << 1 & every, down << 1 & every
        rises, falls = down | ~(diagonal | up) & every, up & diagonal
    return min_distance


# --- Tables ---


def medians(sittings: list[Sitting]) -> dict[str, float]:
    """Returns the median milliseconds per screen."""
    return {name: statistics.median(one.takes[name].milliseconds for one in sittings) for name in sittings[0].takes}


def summary(name: str, sittings: list[Sitting], scores: list[Score]) -> str:
    times, total = list(medians(sittings).values()), together(scores)
    cpu = statistics.median(one.cpu_seconds for one in sittings)
    peak = max(one.peak_mebibytes for one in sittings)
    english, chinese = (f"{found}/{of}" for found, of in (total.english, total.chinese))
    return (
        f"| {name} | {len(times)} | {statistics.median(times):.0f} | {sum(times):.0f} | {cpu:.1f} | {peak:.0f} "
        f"| {english} | {chinese} | {statistics.mean(total.errors):.4f} |"
    )


def report(screens: list[DrawnScreen], rounds: list[dict[str, Sitting]], scores: dict[str, dict[str, Score]]) -> None:
    names = list(scores)
    sittings = {name: [one[name] for one in rounds] for name in names}
    print("| engine | screens | median ms | all ms | CPU s | peak MiB | English found | Chinese found | mean error |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names:
        print(summary(name, sittings[name], list(scores[name].values())))
    print(f"\n| ms; found | strings | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}")
    times = {name: medians(sittings[name]) for name in names}
    for screen in screens:
        found = {name: len(screen.known) - len(scores[name][screen.name].missed) for name in names}
        cells = [f"{times[name][screen.name]:.0f}; {found[name]}" for name in names]
        print(f"| {screen.name} | {len(screen.known)} | {' | '.join(cells)} |")
    for name in names:
        if not is_steady(sittings[name]):
            print(f"\n{name} did not return the same text in every round; its results are those of the first.")


def is_steady(sittings: list[Sitting]) -> bool:
    """Returns whether the text was the same in every round."""
    texts = [[take.lines for take in one.takes.values()] for one in sittings]
    return all(text == texts[0] for text in texts)


def save_missed(folder: Path, scores: dict[str, dict[str, Score]]) -> None:
    with (folder / "missed.tsv").open("w", encoding="utf-8") as file:
        for name, of_screens in scores.items():
            for screen, one in of_screens.items():
                file.writelines(f"{name}\t{screen}\t{text}\n" for text in one.missed)


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def newest_program() -> Path:
    built = [ROOT / f"target/{profile}/motorium-perception" for profile in ("debug", "release")]
    built = [program for program in built if program.exists()]
    if not built:
        sys.exit("motorium-perception is missing; run `cargo programs`")
    return max(built, key=lambda program: program.stat().st_mtime)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, help="path of motorium-perception (default: the newest in target/)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--screens", nargs="+", choices=[one.name for one in SCREENS], metavar="NAME", help="screens to draw (default: all)")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES, metavar="NAME", help="engines to run (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="folder for the screenshots and the strings that each engine missed")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    program = asked.program or newest_program()
    screens = [screen for screen in SCREENS if not asked.screens or screen.name in asked.screens]
    with tempfile.TemporaryDirectory(prefix="motorium-bench-") as scratch:
        folder = asked.save or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        # A copy, so that a build during the run does not change the measured program.
        starts = engines(Path(shutil.copy2(program, scratch)), asked.engines)
        note(f"drawing {len(screens)} screens …")
        warm_up = draw(WARM_UP, asked.seed, Path(scratch))
        drawn_screens = [draw(screen, asked.seed, folder) for screen in screens]
        print(f"{os.cpu_count()} cores; rounds: {asked.rounds}; load average before them {os.getloadavg()[0]:.1f}\n")
        rounds = []
        for index in range(asked.rounds):
            note(f"round {index + 1} of {asked.rounds} …")
            rounds.append(sit(starts, warm_up, drawn_screens))
    scores = {name: scores_of(first, drawn_screens) for name, first in rounds[0].items()}
    report(drawn_screens, rounds, scores)
    if asked.save:
        save_missed(folder, scores)
    return 0


if __name__ == "__main__":
    sys.exit(main())
