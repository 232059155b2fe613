#!/usr/bin/env python3
"""Compares clicks and typed text with other tools, called in turn in one run, as received by a browser.

    cargo build --workspace --features motorium-perception/driver-xcap,motorium-executor/driver-enigo --bins
    .tools/venv/bin/python clients/python/generate.py
    .tools/venv/bin/python tests/bench/input_peers.py [--rounds 10]

    ours                 an Executor, over gRPC with lease, policy and journal
    xdotool              Debian's command, one process per action, if it is installed
    xdotool, --delay 1   the same with a shorter pause between keys than the default
    pyautogui            the Python package, in one process, with its default pauses; requires python3-tk
    pyautogui, PAUSE 0   the same without pauses

A browser on a virtual display of 1920×1080 with a window manager shows a page that reports its events. A click is timed
until the page has received it, a text until its last character is in the field. Texts have 1,000 characters: ASCII with
every printable character, and Chinese with 1,000 distinct ones. The tables count exact texts and wrong or missing
characters. The resulting work of the window manager is reported as its CPU time.
"""

import argparse
import difflib
import json
import os
import queue
import shutil
import signal
import socket
import statistics
import string
import subprocess
import sys
import tempfile
import threading
import time
import venv
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python/src"))

import grpc
from google.protobuf import duration_pb2
from motorium.executor.v1 import executor_service_pb2 as hand
from motorium.executor.v1 import executor_service_pb2_grpc as hand_grpc

EXECUTOR = ROOT / "target/debug/motorium-executor"
PEERS = ROOT / ".tools/input-peers"
PINS = ["PyAutoGUI==0.9.54", "python3-xlib==0.15", "PyScreeze==1.0.1", "pytweening==1.2.0", "PyMsgBox==2.0.1", "MouseInfo==0.1.3",
        "pyperclip==1.11.0", "six==1.17.0"]
SIZE = (1920, 1080)
TIMEOUT_SECONDS = 60
# A text is complete when the field has not changed for this time.
QUIET_SECONDS = 1.5

PAGE = """<!DOCTYPE html><meta charset="utf-8"><title>Input</title><body style="margin: 0">
<textarea id="field" autofocus spellcheck="false" style="width: 100vw; height: 60vh"></textarea><script>
  const waiting = [];
  let sending = false;
  async function tell(what) {
    waiting.push(what);
    if (sending) return;
    sending = true;
    while (waiting.length) await fetch("/", { method: "POST", body: JSON.stringify(waiting.splice(0)) });
    sending = false;
  }
  addEventListener("mousedown", event => tell({ kind: "click", x: event.screenX, y: event.screenY }));
  // Throttled: a report for every character would cost more than the character.
  let due = false;
  field.addEventListener("input", () => {
    if (due) return;
    due = true;
    setTimeout(() => { due = false; tell({ kind: "input" }) }, 10);
  });
  (async () => {
    for (;;) {
      const order = await (await fetch("/order")).text();
      if (order == "clear") field.value = "";
      if (order == "clear") field.focus();
      tell({ kind: order, value: field.value, focused: document.hasFocus() });
    }
  })();
</script>"""

PYAUTOGUI = """
import json, sys, time
import pyautogui
if sys.argv[1] != "default":
    pyautogui.PAUSE = float(sys.argv[1])
pyautogui.FAILSAFE = False
for line in sys.stdin:
    kind, *values = json.loads(line)
    pyautogui.click(*values) if kind == "click" else pyautogui.write(*values)
    print(flush=True)
"""


class Page:
    """The browser's page: its events with their arrival times, and commands to it."""

    def __init__(self) -> None:
        self.events: queue.Queue[tuple[float, dict]] = queue.Queue()
        self.orders: queue.Queue[str] = queue.Queue()
        page = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def answer(self, body: str) -> None:
                content = body.encode()
                self.send_response(200)
                self.send_header("content-type", "text/html; charset=utf-8")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def do_GET(self) -> None:
                self.answer(page.orders.get() if self.path == "/order" else PAGE)

            def do_POST(self) -> None:
                now = time.perf_counter()
                for event in json.loads(self.rfile.read(int(self.headers["content-length"]))):
                    page.events.put((now, event))
                self.answer("")

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{server.server_port}/"

    def wait(self, kind: str, seconds: float = TIMEOUT_SECONDS) -> tuple[float, dict] | None:
        """Returns the next event of a kind, skipping others."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            try:
                at, event = self.events.get(timeout=left)
            except queue.Empty:
                break
            if event["kind"] == kind:
                return at, event
        return None

    def order(self, what: str) -> dict:
        self.orders.put(what)
        answer = self.wait(what)
        return answer[1] if answer else sys.exit(f"the page does not respond to `{what}`")

    def text(self) -> tuple[float, str]:
        """Returns the time of the field's last change, and its final text."""
        last = time.perf_counter()
        while received := self.wait("input", QUIET_SECONDS):
            last = received[0]
        return last, self.order("value")["value"]


class Ours:
    def __init__(self, stack: ExitStack, display: str, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        settings = [f"executor.listen={address}", f'executor.displays=["{display}"]']
        command = [str(EXECUTOR), *(part for setting in settings for part in ("--set", setting))]
        environment = {**os.environ, "MOTORIUM_DATA": str(folder / "data"), "DISPLAY": display}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        channel = stack.enter_context(grpc.insecure_channel(address))
        grpc.channel_ready_future(channel).result(TIMEOUT_SECONDS)
        self.executor = hand_grpc.ExecutorServiceStub(channel)
        ttl = duration_pb2.Duration(seconds=3600)
        self.lease = self.executor.AcquireDesktop(hand.AcquireDesktopRequest(holder="bench", ttl=ttl)).lease
        self.actions = 0

    def perform(self, **action: dict) -> None:
        self.actions += 1
        request = hand.PerformRequest(display=self.lease.desktop, epoch=self.lease.epoch, action_id=f"action {self.actions}", action=action)
        outcome = self.executor.Perform(request).outcome
        if outcome.result != 1:
            print(f"ours: {outcome.detail}")

    def click(self, x: int, y: int) -> None:
        self.perform(click={"at": {"point": {"x": x, "y": y}}})

    def type(self, text: str) -> None:
        self.perform(type_text={"text": {"literal": text}})


class Xdotool:
    def __init__(self, display: str, *options: str) -> None:
        self.environment, self.options = {**os.environ, "DISPLAY": display}, options

    def run(self, *arguments: str) -> None:
        subprocess.run(["xdotool", *arguments], env=self.environment, check=True)

    def click(self, x: int, y: int) -> None:
        self.run("mousemove", "--sync", str(x), str(y), "click", "1")

    def type(self, text: str) -> None:
        self.run("type", *self.options, "--", text)


class Pyautogui:
    def __init__(self, stack: ExitStack, display: str, pause: str) -> None:
        environment = {**os.environ, "DISPLAY": display, "XAUTHORITY": "/dev/null"}
        pipe = subprocess.PIPE
        command = [str(python_of_peers()), "-c", PYAUTOGUI, pause]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        stack.callback(self.process.wait)
        stack.callback(self.process.stdin.close)

    def order(self, *order: object) -> None:
        print(json.dumps(order), file=self.process.stdin, flush=True)
        self.process.stdout.readline() or sys.exit("pyautogui has ended; see its output above")

    def click(self, x: int, y: int) -> None:
        self.order("click", x, y)

    def type(self, text: str) -> None:
        self.order("type", text)


def python_of_peers() -> Path:
    python, stamp = PEERS / "bin/python", PEERS / "pins"
    if stamp.exists() and stamp.read_text().split() == PINS:
        return python
    venv.create(PEERS, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "setuptools==80.9.0"], check=True)
    subprocess.run([*install, "--no-deps", "--no-build-isolation", *PINS], check=True)
    stamp.write_text("\n".join(PINS))
    return python


def cpu_seconds(pid: int) -> float:
    return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def start_desktop(stack: ExitStack, folder: Path, page: Page) -> tuple[str, int]:
    """Starts a display with a browser; returns the display's name and its window manager's process id."""
    quiet = {"stderr": subprocess.DEVNULL, "start_new_session": True}
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "%dx%dx24" % SIZE, "-noreset", "-nolisten", "tcp"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **quiet)
    stack.callback(server.wait)
    stack.callback(server.terminate)
    display = f":{server.stdout.readline().strip()}"
    environment = {**os.environ, "DISPLAY": display, "HOME": str(folder)}
    manager = subprocess.Popen(["icewm"], env=environment, stdout=subprocess.DEVNULL, **quiet)
    stack.callback(manager.wait)
    stack.callback(manager.terminate)
    flags = "no-sandbox disable-gpu no-first-run test-type disable-background-networking disable-component-update disable-sync"
    browser = subprocess.Popen(
        ["chromium", *(f"--{flag}" for flag in flags.split()), f"--user-data-dir={folder / 'profile'}", "--password-store=basic",
         "--window-position=0,0", "--window-size=%d,%d" % (SIZE[0], SIZE[1] - 40), f"--app={page.address}"],
        env=environment, stdout=subprocess.DEVNULL, **quiet,
    )
    stack.callback(browser.wait)
    stack.callback(os.killpg, browser.pid, signal.SIGKILL)
    end = time.perf_counter() + TIMEOUT_SECONDS
    while not page.order("clear")["focused"]:
        if time.perf_counter() > end:
            sys.exit("the page does not get the focus")
    # The browser drops keys until the first paint, which it does not report.
    time.sleep(3)
    return display, manager.pid


def engines(stack: ExitStack, display: str, folder: Path) -> dict[str, Ours | Xdotool | Pyautogui]:
    started: dict[str, Ours | Xdotool | Pyautogui] = {"ours": Ours(stack, display, folder)}
    if shutil.which("xdotool"):
        started["xdotool"] = Xdotool(display)
        started["xdotool, --delay 1"] = Xdotool(display, "--delay", "1")
    else:
        print("xdotool is not installed; its rows are omitted\n")
    started["pyautogui"] = Pyautogui(stack, display, "default")
    started["pyautogui, PAUSE 0"] = Pyautogui(stack, display, "0")
    return started


def in_turn(names: list[str], rounds: int):
    for index in range(rounds):
        first = index % len(names)
        yield from ((index, name) for name in [*names, *names][first:first + len(names)])


def measure_clicks(started: dict, page: Page, rounds: int) -> None:
    times: dict[str, list[float]] = {name: [] for name in started}
    calls: dict[str, list[float]] = {name: [] for name in started}
    errors = dict.fromkeys(started, 0)
    for number, (_, name) in enumerate(in_turn(list(started), rounds)):
        at = 100 + number * 97 % 1700, 700 + number * 31 % 250
        # Longer than the double-click interval.
        time.sleep(0.6)
        began = time.perf_counter()
        started[name].click(*at)
        returned = time.perf_counter()
        seen = page.wait("click", 5)
        if seen and (seen[1]["x"], seen[1]["y"]) == at:
            times[name].append((seen[0] - began) * 1000)
            calls[name].append((returned - began) * 1000)
        else:
            errors[name] += 1
    head = "| page received, median ms | p95 ms | call returned, median ms | wrong or lost |"
    print(f"\n| move and click {head}\n|---|---|---|---|---|")
    for name, taken in times.items():
        p95 = sorted(taken)[int(len(taken) * 0.95)] if taken else float("nan")
        seen, back = (statistics.median(values or [float("nan")]) for values in (taken, calls[name]))
        print(f"| {name} | {seen:.1f} | {p95:.1f} | {back:.1f} | {errors[name]} of {rounds} |")


def wrong_characters(wanted: str, got: str) -> int:
    matcher = difflib.SequenceMatcher(None, wanted, got, autojunk=False)
    same = sum(block.size for block in matcher.get_matching_blocks())
    return max(len(wanted), len(got)) - same


def measure_text(what: str, text: str, started: dict, page: Page, rounds: int, manager: int) -> None:
    times: dict[str, list[float]] = {name: [] for name in started}
    calls: dict[str, list[float]] = {name: [] for name in started}
    exact, wrong, busy = dict.fromkeys(started, 0), dict.fromkeys(started, 0), dict.fromkeys(started, 0.0)
    for _, name in in_turn(list(started), rounds):
        page.order("clear")
        cpu_before, began = cpu_seconds(manager), time.perf_counter()
        started[name].type(text)
        calls[name].append(time.perf_counter() - began)
        last, got = page.text()
        times[name].append(last - began)
        busy[name] += cpu_seconds(manager) - cpu_before
        exact[name] += got == text
        wrong[name] += wrong_characters(text, got)
    head = "| field complete, s | call returned, s | exact | wrong or missing | window manager CPU s |"
    print(f"\n| {what}, medians {head}\n|---|---|---|---|---|---|")
    for name, taken in times.items():
        per_round = wrong[name] / rounds
        had, back = statistics.median(taken), statistics.median(calls[name])
        count = f"{exact[name]} of {rounds} | {per_round:.0f}"
        print(f"| {name} | {had:.2f} | {back:.2f} | {count} | {busy[name] / rounds:.2f} |")


def ascii_text() -> str:
    signs = "".join(chr(code) for code in range(32, 127))
    prose = "The quick brown fox jumps over the lazy dog; 42 times, isn't it? " + string.ascii_uppercase
    return ((prose + signs) * 10)[:1000]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    asked = parser.parse_args()
    if not EXECUTOR.exists():
        sys.exit(f"{EXECUTOR} is missing; build it with the command at the top of this file")
    print(f"{os.cpu_count()} cores; rounds: {asked.rounds}; load average before them {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="motorium-bench-", ignore_cleanup_errors=True) as scratch, ExitStack() as stack:
        page = Page()
        display, manager = start_desktop(stack, Path(scratch), page)
        started = engines(stack, display, Path(scratch))
        measure_clicks(started, page, asked.rounds * 3)
        measure_text("1,000 ASCII characters", ascii_text(), started, page, asked.rounds, manager)
        chinese = "".join(chr(0x4E00 + 7 * number) for number in range(1000))
        measure_text("1,000 Chinese characters", chinese, started, page, max(1, asked.rounds // 3), manager)
    return 0


if __name__ == "__main__":
    sys.exit(main())
