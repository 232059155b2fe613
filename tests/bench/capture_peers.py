#!/usr/bin/env python3
"""Compares display capture with other tools, called in turn in one run.

    cargo build --workspace --features motorium-perception/driver-xcap,motorium-executor/driver-enigo --examples
    .tools/venv/bin/python tests/bench/capture_peers.py [--rounds 200]

    ours         Perception's X11 driver: shared memory, only regions drawn since the last capture
    ours, xcap   Perception's portable driver, based on the crate xcap
    mss          the Python package with its native BGRX pixels
    mss, RGB     the same, converted to RGB
    scrot        Debian's command, to a PNG with the fastest compression, if it is installed

A browser shows a page on a virtual display of 1920×1080. There are three tables: nothing is drawn, one line is drawn 25
times per second, everything is. Each row has the elapsed time, and the CPU time of the engine and of the display server
per capture (including the server's work for the browser). For the idle screen the pixels of all engines are compared.

Each engine is a separate process; ours are called in-process, without gRPC. The first capture is not counted.
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".tools/capture-peers"
PINS = ["mss==10.2.0", "pillow==13.0.0"]
SIZE = (1920, 1080)
CAPTURES = ROOT / "target/debug/examples/captures"
OPEN_SECONDS = 6
# Longer than the interval between two drawings of the page.
REST_SECONDS = 0.05

PAGE = """<!DOCTYPE html><meta charset="utf-8"><title>Capture</title>
<body style="margin: 0; font: 16px sans-serif"><div id="line" style="padding: 20px">Line</div><div id="all"></div>
<script>
  const words = seed => Array.from({ length: 1500 }, (_, word) => (word * 7919 + seed).toString(36)).join(" ");
  const element = id => document.getElementById(id);
  let count = 0;
  const draw = {
    nothing() {},
    line() { element("line").textContent = "Line " + words(count).slice(0, 60) },
    everything() { document.body.style.background = `hsl(${count * 47 % 360} 50% 90%)`; element("all").textContent = words(count) },
  };
  element("all").textContent = words(1);
  setInterval(() => { count++; draw[location.hash.slice(1)]() }, 40);
</script>"""

MSS = """
import sys, time, mss
with mss.MSS(display=sys.argv[1]) as screen:
    for line in sys.stdin:
        began = time.perf_counter_ns()
        shot = screen.grab({"left": 0, "top": 0, "width": %d, "height": %d})
        if sys.argv[2] == "rgb":
            shot.rgb
        elapsed = time.perf_counter_ns() - began
        if line.strip():
            open(line.strip(), "wb").write(shot.rgb)
        print(elapsed, flush=True)
""" % SIZE

# This quality means the lowest PNG compression.
SCROT = ["scrot", "--overwrite", "--quality", "100"]


class Engine:
    """A process that captures once per input line."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)

    def capture(self, file: str = "") -> float:
        """Captures once; returns the elapsed milliseconds."""
        print(file, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline() or sys.exit("an engine has ended; see its output above")
        return int(answer) / 1e6

    def pixels(self, file: Path) -> bytes:
        self.capture(str(file))
        return file.read_bytes()

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.process.pid)

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


class Scrot:
    """A new process for every capture."""

    def __init__(self, display: str, file: Path) -> None:
        self.command, self.file = [*SCROT, "--display", display, str(file)], file
        self.seconds = 0.0

    def capture(self) -> float:
        began = time.perf_counter()
        process = subprocess.Popen(self.command)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit("scrot failed; see its output above")
        self.seconds += usage.ru_utime + usage.ru_stime
        return (time.perf_counter() - began) * 1000

    def pixels(self, file: Path) -> bytes:
        self.capture()
        decode = "import sys; from PIL import Image; sys.stdout.buffer.write(Image.open(sys.argv[1]).convert('RGB').tobytes())"
        return subprocess.run([python_of_peers(), "-c", decode, self.file], stdout=subprocess.PIPE, check=True).stdout

    def cpu_seconds(self) -> float:
        return self.seconds

    def end(self) -> None:
        pass


def cpu_seconds(pid: int) -> float:
    """Returns the CPU seconds of all threads of a process."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def python_of_peers() -> Path:
    python, stamp = PEERS / "bin/python", PEERS / "pins"
    if stamp.exists() and stamp.read_text().split() == PINS:
        return python
    venv.create(PEERS, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*install, "--only-binary=:all:", *PINS], check=True)
    stamp.write_text("\n".join(PINS))
    return python


def engines(display: str, folder: Path) -> dict[str, Engine | Scrot]:
    environment = {**os.environ, "DISPLAY": display}
    environment.pop("WAYLAND_DISPLAY", None)
    mss = [str(python_of_peers()), "-c", MSS, display]
    started = {
        "ours": Engine([str(CAPTURES), "x11", display], environment),
        "ours, xcap": Engine([str(CAPTURES), "xcap", display], environment),
        "mss": Engine([*mss, "raw"], environment),
        "mss, RGB": Engine([*mss, "rgb"], environment),
    }
    if shutil.which("scrot"):
        started["scrot"] = Scrot(display, folder / "scrot.png")
    else:
        print("scrot is not installed; its rows are omitted\n")
    return started


def start_desktop(stack: ExitStack, folder: Path, drawn: str) -> tuple[str, int]:
    """Starts a display with a browser; returns the display's name and its server's process id."""
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "%dx%dx24" % SIZE, "-noreset", "-nolisten", "tcp"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    stack.callback(server.wait)
    stack.callback(server.terminate)
    display = f":{server.stdout.readline().strip()}"
    page = folder / "page.html"
    page.write_text(PAGE)
    flags = "no-sandbox disable-gpu no-first-run test-type disable-background-networking disable-component-update disable-sync"
    browser = subprocess.Popen(
        ["chromium", *(f"--{flag}" for flag in flags.split()), f"--user-data-dir={folder / drawn}", "--window-position=0,0",
         "--window-size=%d,%d" % SIZE, f"--app=file://{page}#{drawn}"],
        env={**os.environ, "DISPLAY": display}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )
    stack.callback(browser.wait)
    stack.callback(os.killpg, browser.pid, signal.SIGKILL)
    return display, server.pid


def measure(drawn: str, rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="motorium-bench-", ignore_cleanup_errors=True) as scratch, ExitStack() as stack:
        folder = Path(scratch)
        display, server = start_desktop(stack, folder, drawn)
        time.sleep(OPEN_SECONDS)
        started = engines(display, folder)
        for engine in started.values():
            stack.callback(engine.end)
            engine.capture()
        times: dict[str, list[float]] = {name: [] for name in started}
        own, servers = dict.fromkeys(started, 0.0), dict.fromkeys(started, 0.0)
        for index in range(rounds):
            first = index % len(started)
            for name in [*started, *started][first:first + len(started)]:
                time.sleep(REST_SECONDS)
                before, served = started[name].cpu_seconds(), cpu_seconds(server)
                times[name].append(started[name].capture())
                own[name] += started[name].cpu_seconds() - before
                servers[name] += cpu_seconds(server) - served
        print(f"\n| {drawn} is drawn | median ms | p95 ms | CPU ms | server CPU ms |\n|---|---|---|---|---|")
        for name, taken in times.items():
            p95 = sorted(taken)[int(len(taken) * 0.95)]
            cpu, of_server = own[name] * 1000 / rounds, servers[name] * 1000 / rounds
            print(f"| {name} | {statistics.median(taken):.2f} | {p95:.2f} | {cpu:.2f} | {of_server:.2f} |")
        if drawn == "nothing":
            compare({name: engine.pixels(folder / "pixels") for name, engine in started.items()})


def compare(pixels: dict[str, bytes]) -> None:
    ours = pixels["ours"]
    for name, theirs in pixels.items():
        differing = sum(a != b for a, b in zip(ours, theirs)) + abs(len(ours) - len(theirs)) if ours != theirs else 0
        print(f"pixels of {name}: {f'{differing} of {len(ours)} bytes differ' if differing else 'the same as ours'}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    asked = parser.parse_args()
    if not CAPTURES.exists():
        sys.exit(f"{CAPTURES} is missing; build it with the command at the top of this file")
    print(f"{os.cpu_count()} cores; rounds: {asked.rounds}; load average before them {os.getloadavg()[0]:.1f}")
    for drawn in ("nothing", "line", "everything"):
        measure(drawn, asked.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
