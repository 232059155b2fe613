#!/usr/bin/env python3
"""Soak test of Perception on a busy desktop: latency, memory, handles and stability of element ids.

    cargo programs && .tools/venv/bin/python clients/python/generate.py
    .tools/venv/bin/python tests/bench/perception_soak.py [--frames 100000] [--program PATH]

A browser on a private display shows a page that changes 25 times per second: text is typed, a list scrolls, a box moves, a
menu opens, lines are replaced. Perception observes it frame by frame; at intervals it compares two frames and waits for
idle. During the run the display server is stopped for a while, resized, and killed and restarted. The page has words that
never move; their element ids must not change while the server lives.

The test fails if a word gets another id, if an error occurs without a fault, if the service does not recover after a
fault, if handles leak, or if memory still grows in the second half. It is not part of `make test`: 100,000 frames take
an hour or more.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import grpc

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python/src"))

import motorium  # noqa: E402
from foundation import demo_module  # noqa: E402
from motorium.perception.v1 import perception_service_pb2 as eye  # noqa: E402
from motorium.perception.v1 import perception_service_pb2_grpc as eye_grpc  # noqa: E402

# A smaller mode of the display server in which the page still fits.
RESIZED = "1280x720"
# Maximum consecutive frames without a fixed word. The browser repaints for a few frames after a fault.
MAX_MISSING_FRAMES = 20
FIXED = ["Overview", "Departments", "Warehouse", "Receipts", "Calendar"]
# Maximum growth of resident memory in the second half. Allocators keep some freed memory.
GROWTH_MIB = 48
SAMPLES = 20
CALL_SECONDS = 60
OPEN_SECONDS = 60

PAGE = """<!DOCTYPE html><meta charset="utf-8"><title>Soak</title>
<body style="font: 15px 'DejaVu Sans'; margin: 0; background: #fff">
<div style="position: absolute; left: 20px; top: 20px; width: 160px">%s</div>
<input id="field" style="position: absolute; left: 220px; top: 20px; width: 380px; font: 15px 'DejaVu Sans'">
<div id="list" style="position: absolute; left: 220px; top: 70px; width: 380px; height: 300px; overflow: hidden"></div>
<div id="text" style="position: absolute; left: 640px; top: 70px; width: 420px; font-size: 13px; line-height: 21px"></div>
<div id="box" style="position: absolute; left: 240px; top: 420px; padding: 20px; border: 2px solid #446">Moving box</div>
<div id="menu" style="position: absolute; left: 700px; top: 420px; width: 160px; background: #333; color: #eee"></div>
<script>
  const words = "invoice meeting budget project server report customer 会议 报告 发票 订单 客户 network storage".split(" ");
  const pick = () => words[Math.floor(Math.random() * words.length)];
  const phrase = count => Array.from({ length: count }, pick).join(" ");
  const rows = (count, make) => Array.from({ length: count }, (_, row) => `<div>${make(row)}</div>`).join("");
  list.innerHTML = rows(60, row => `${1000 + row} ${phrase(3)}`);
  let count = 0;
  const acts = [
    () => { field.value = field.value.length > 40 ? "" : field.value + pick()[0] },
    () => { list.scrollTop = (list.scrollTop + 23) %% 900 },
    () => { text.innerHTML = rows(12, row => `${count}.${row} ${phrase(5)}`) },
    () => { box.style.left = 240 + Math.random() * 100 + "px" },
    () => { menu.innerHTML = menu.innerHTML ? "" : rows(6, () => phrase(2)) },
  ];
  setInterval(() => acts[Math.floor(Math.random() ** 4 * acts.length)](count++), 40);
</script>""" % "".join(f'<p style="margin: 0 0 40px">{word}</p>' for word in FIXED)


class Desktop:
    """A display server that can be stopped, resized and killed, with a browser on it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.display = folder, ""
        self.start()

    def start(self) -> None:
        number = [self.display] if self.display else []
        command = ["Xtigervnc", *number, "-displayfd", "1", "-geometry", "1280x800", "-depth", "24", "-rfbport", "-1",
                   "-SecurityTypes", "None", "-noreset", "-nolisten", "tcp"]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.display = f":{self.server.stdout.readline().strip()}"
        page = self.folder / "page.html"
        page.write_text(PAGE)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
        flags = "no-sandbox disable-gpu no-first-run test-type disable-background-networking disable-component-update disable-sync"
        profile = tempfile.mkdtemp(dir=self.folder)
        self.browser = subprocess.Popen(
            ["chromium", *(f"--{flag}" for flag in flags.split()), f"--user-data-dir={profile}", "--window-position=0,0",
             "--window-size=1200,700", f"--app=file://{page}"],
            env={**os.environ, "DISPLAY": self.display}, **quiet,
        )

    def kill(self) -> None:
        self.server.kill()
        self.server.wait()
        self.end_browser()

    def end_browser(self) -> None:
        try:
            os.killpg(self.browser.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.browser.wait()

    def resize(self) -> None:
        subprocess.run(["xrandr", "--display", self.display, "--size", RESIZED], check=True, stdout=subprocess.DEVNULL)

    def end(self) -> None:
        self.server.send_signal(signal.SIGCONT)
        self.kill()


class Soak:
    """State and results of a run."""

    def __init__(self, stub: eye_grpc.PerceptionServiceStub, process: subprocess.Popen, desktop: Desktop) -> None:
        self.stub, self.process, self.desktop = stub, process, desktop
        self.numbers: dict[str, int] = {}
        self.before = ""
        self.problems: list[str] = []
        self.errors: Counter[str] = Counter()
        self.times: list[float] = []
        self.changed = 0
        self.size_seen = ""
        self.missing: Counter[str] = Counter()

    def frame(self, index: int) -> None:
        began = time.perf_counter()
        seen = self.stub.Observe(eye.ObserveRequest(since_frame=self.before), timeout=CALL_SECONDS)
        self.times.append((time.perf_counter() - began) * 1000)
        self.changed += any((seen.delta.added, seen.delta.removed, seen.delta.changed))
        for word in FIXED:
            ids = [element.id for element in seen.scene.elements if element.content == word]
            self.missing[word] = 0 if ids else self.missing[word] + 1
            if self.missing[word] == MAX_MISSING_FRAMES and word in self.numbers:
                self.problem(f"frame {index}: {word} is no longer recognised")
            if ids and self.numbers.setdefault(word, ids[0]) != ids[0]:
                self.problem(f"frame {index}: {word} was {self.numbers[word]} and is {ids[0]}")
                self.numbers[word] = ids[0]
        if index % 10 == 0 and self.before:
            self.stub.Compare(eye.CompareRequest(before=self.before, after=seen.frame.id), timeout=CALL_SECONDS)
        if index % 100 == 0:
            wait = eye.WaitForIdleRequest()
            wait.timeout.FromMilliseconds(300)
            self.stub.WaitForIdle(wait, timeout=CALL_SECONDS)
        self.before = seen.frame.id
        self.size_seen = f"{seen.frame.size.width}x{seen.frame.size.height}"

    def problem(self, words: str) -> None:
        print(f"PROBLEM: {words}", flush=True)
        self.problems.append(words)

    def until_it_goes_on(self, index: int) -> None:
        """Waits for recovery after a fault. Only UNAVAILABLE and ABORTED errors are expected meanwhile."""
        for _ in range(60):
            try:
                self.numbers.clear()
                self.before = ""
                self.frame(index)
                return
            except grpc.RpcError as error:
                self.errors[f"{error.code().name}: {(error.details() or '')[:60]}"] += 1
                if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED):
                    self.problem(f"after a fault: {error.code().name} {error.details()}")
                time.sleep(0.5)
        sys.exit(f"no recovery after a fault: {dict(self.errors)}")

    def until_the_page_is_there(self) -> None:
        deadline = time.monotonic() + OPEN_SECONDS
        while len(self.numbers) < len(FIXED):
            if time.monotonic() > deadline:
                sys.exit(f"the page was not recognised within {OPEN_SECONDS} s; found only {sorted(self.numbers)}")
            self.frame(0)
            time.sleep(0.1)

    def fault(self, kind: str, index: int) -> None:
        if kind == "stopped":
            self.desktop.server.send_signal(signal.SIGSTOP)
            try:
                self.stub.Observe(eye.ObserveRequest(), timeout=CALL_SECONDS)
                self.problem("a stopped server was observed")
            except grpc.RpcError as error:
                self.errors[f"{error.code().name}: stopped"] += 1
            self.desktop.server.send_signal(signal.SIGCONT)
        elif kind == "resized":
            self.desktop.resize()
            self.frame(index)
            if self.size_seen != RESIZED:
                self.problem(f"resized to {RESIZED}, and frames are {self.size_seen}")
        else:
            self.desktop.kill()
            self.desktop.start()
        self.until_it_goes_on(index)
        self.until_the_page_is_there()

    def size(self) -> tuple[float, int]:
        pid = self.process.pid
        status = Path(f"/proc/{pid}/status").read_text()
        resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(resident.split()[1]) / 1024, len(os.listdir(f"/proc/{pid}/fd"))


def soak(run: Soak, frames: int) -> None:
    faults = {frames // 4: "stopped", frames // 2: "killed", frames * 3 // 4: "resized"}
    print("| frames | ms, median | MiB | handles |\n|---|---|---|---|")
    sizes = []
    for index in range(1, frames + 1):
        if index in faults:
            run.fault(faults[index], index)
        run.frame(index)
        if index % max(frames // SAMPLES, 1) == 0:
            sizes.append(run.size())
            print(f"| {index} | {statistics.median(run.times):.1f} | {sizes[-1][0]:.0f} | {sizes[-1][1]} |", flush=True)
            run.times.clear()
    half = sizes[len(sizes) // 2 :]
    growth, handles = half[-1][0] - half[0][0], half[-1][1] - half[0][1]
    if growth > GROWTH_MIB:
        run.problem(f"memory grew by {growth:.0f} MiB in the second half")
    if handles > 8:
        run.problem(f"{handles} handles more in the second half")


def main() -> int:
    parser = argparse.ArgumentParser(description="Soak test of Perception on a busy desktop.")
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--program", type=Path, default=ROOT / "target/debug/motorium-perception")
    asked = parser.parse_args()
    demo = demo_module()
    [port] = demo.free_ports(1)
    with tempfile.TemporaryDirectory(prefix="motorium-soak-", ignore_cleanup_errors=True) as scratch, ExitStack() as stack:
        folder = Path(scratch)
        demo.link_models(folder)
        desktop = Desktop(folder)
        stack.callback(desktop.end)
        settings = [f"perception.listen=127.0.0.1:{port}", f'perception.displays=["{desktop.display}"]']
        flags = [part for setting in settings for part in ("--set", setting)]
        log = stack.enter_context((folder / "perception.log").open("wb"))
        process = subprocess.Popen([asked.program, "--data", scratch, *flags], stdout=log, stderr=log)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        channel = stack.enter_context(motorium.connect(f"127.0.0.1:{port}"))
        grpc.channel_ready_future(channel).result(timeout=60)
        run = Soak(eye_grpc.PerceptionServiceStub(channel), process, desktop)
        run.until_it_goes_on(0)
        run.until_the_page_is_there()
        soak(run, asked.frames)
    print(f"\nof {asked.frames} frames {run.changed} had changed")
    for error, times in run.errors.items():
        print(f"{times}× {error}")
    print(f"{len(run.problems)} problems")
    return int(bool(run.problems))


if __name__ == "__main__":
    sys.exit(main())
