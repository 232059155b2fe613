#!/usr/bin/env python3
"""Measures the whole product through its API, on a 1920×1080 desktop with an editor and a browser page.

    cargo build --release --workspace --bins
    .tools/venv/bin/python clients/python/generate.py
    .tools/venv/bin/python tests/bench/foundation.py [--binary target/release/motorium] [--rounds 15]

It starts `motorium up` on a virtual desktop and calls the services as a client, so every figure includes gRPC on the
loopback address. It prints medians as a table in Markdown:

    capture           Capture without an image; with a PNG
    parse             Observe with about 120 new lines; with an unchanged screen
    effect judgement  Capture and Compare: the work between an idle screen and a verdict
    step overhead     time per step without waiting for the screen to become idle
"""

import argparse
import importlib.machinery
import importlib.util
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python/src"))

import motorium
from motorium.orchestrator.v1 import orchestrator_service_pb2 as tasks
from motorium.orchestrator.v1 import orchestrator_service_pb2_grpc as tasks_grpc
from motorium.orchestrator.v1 import task_pb2
from motorium.perception.v1 import perception_service_pb2 as eye
from motorium.perception.v1 import perception_service_pb2_grpc as eye_grpc


def demo_module():
    """Loads tools/demo as a module, for its helpers to start everything."""
    loader = importlib.machinery.SourceFileLoader("demo", str(ROOT / "tools/demo"))
    spec = importlib.util.spec_from_loader("demo", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def milliseconds(rounds: int, call) -> list[float]:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1000)
    return times


def row(name: str, times: list[float]) -> str:
    ordered = sorted(times)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return f"| {name} | {statistics.median(times):.1f} | {p95:.1f} | {len(times)} |"


def carry_out(stub, goal: str) -> str:
    task = stub.CreateTask(tasks.CreateTaskRequest(task=task_pb2.Task(goal=goal))).task
    for message in stub.WatchTask(tasks.WatchTaskRequest(name=task.name)):
        if message.event.HasField("failed"):
            sys.exit(f"{goal}: {message.event.failed.failure.message}")
        if message.event.HasField("user_asked"):
            sys.exit(f"{goal}: unexpected question {message.event.user_asked}")
    return task.name


def step_overheads(stub, name: str) -> list[float]:
    """Returns the time of each step with actions, without the wait for an idle screen."""
    overheads = []
    for step in stub.ListSteps(tasks.ListStepsRequest(parent=name)).steps:
        effects = [action.effect for action in step.actions if action.HasField("effect")]
        if effects:
            waited = sum(effect.settle_time.ToTimedelta().total_seconds() for effect in effects)
            whole = (step.end_time.ToDatetime() - step.start_time.ToDatetime()).total_seconds()
            overheads.append((whole - waited) * 1000)
    return overheads


def await_new_words(perception) -> None:
    """Waits until the page of words has replaced its content. Small changes, such as a caret, are ignored."""
    before = perception.Capture(eye.CaptureRequest()).frame.id
    request = eye.WaitForIdleRequest(since_frame=before, ignore_pixels=5_000)
    request.first_change_timeout.FromSeconds(20)
    request.timeout.FromSeconds(30)
    if not perception.WaitForIdle(request, timeout=40).changed:
        sys.exit("the page of words does not change")


def new_parses(perception, rounds: int) -> list[float]:
    """Measures Observe on a screen of about 120 lines, all of them new."""
    times = []
    for _ in range(rounds):
        await_new_words(perception)
        times += milliseconds(1, lambda: perception.Observe(eye.ObserveRequest()))
    return times


def measure(stub, perception, rounds: int) -> list[str]:
    def capture(image=None):
        return perception.Capture(eye.CaptureRequest(image=image))

    png = eye.ImageOptions(format=eye.IMAGE_FORMAT_PNG)
    rows = [
        row("capture, no image", milliseconds(rounds, capture)),
        row("capture, PNG", milliseconds(rounds, lambda: capture(png))),
    ]
    perception.Observe(eye.ObserveRequest())
    rows.append(row("parse, unchanged", milliseconds(rounds, lambda: perception.Observe(eye.ObserveRequest()))))
    before = capture().frame.id

    def judge():
        perception.Compare(eye.CompareRequest(before=before, after=capture().frame.id))

    rows.append(row("effect judgement", milliseconds(rounds, judge)))
    # Two clicks per task: many repetitions in one task would trigger loop detection and a question to the user.
    names = [carry_out(stub, 'click "Name"; click "E-mail"') for _ in range(max(2, rounds))]
    rows.append(row("step overhead, clicks", [took for name in names for took in step_overheads(stub, name)]))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/motorium")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    demo = demo_module()
    server = demo.FormServer()
    with tempfile.TemporaryDirectory(prefix="motorium-bench-", ignore_cleanup_errors=True) as state:
        process = demo.Motorium(arguments.binary, Path(state))
        try:
            process.wait_until_ready()
            stub = tasks_grpc.OrchestratorServiceStub(motorium.connect(process.address("orchestrator")))
            perception = eye_grpc.PerceptionServiceStub(motorium.connect(process.address("perception")))
            print("| operation | median ms | p95 ms | rounds |\n|---|---|---|---|")
            carry_out(stub, f'open {server.url("words.html")}')
            print(row("parse, 120 new lines", new_parses(perception, max(3, arguments.rounds // 3))))
            carry_out(stub, f'open editor; open {server.url("form.html")}; wait for "E-mail"')
            print("\n".join(measure(stub, perception, arguments.rounds)))
        finally:
            process.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
