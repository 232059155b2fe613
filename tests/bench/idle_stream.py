#!/usr/bin/env python3
"""Measures the cost of a live stream of an idle screen.

    cargo programs && .tools/venv/bin/python clients/python/generate.py
    .tools/venv/bin/python tests/bench/idle_stream.py [--seconds 30]

One viewer reads the stream of a virtual display with a browser, at the default frame rate and at 20 frames per second.
For each it prints the share of a core used by Perception and the display server, and the number of frames sent.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import grpc

from capture_peers import OPEN_SECONDS, start_desktop
from ocr_peers import cpu_ticks, newest_program
from foundation import demo_module, motorium
from motorium.perception.v1 import perception_service_pb2 as eye
from motorium.perception.v1 import perception_service_pb2_grpc as eye_grpc

TICKS = os.sysconf("SC_CLK_TCK")
# Time for the first frame to be sent and the browser to become idle.
REST_SECONDS = 4


def read(stub: eye_grpc.PerceptionServiceStub, pace: int, seen: list[int]) -> None:
    try:
        for update in stub.StreamFrames(eye.StreamFramesRequest(max_frames_per_second=pace)):
            seen.append(update.sequence)
    except grpc.RpcError:
        # The channel was closed at the end.
        pass


def measure(pace: int, seconds: int) -> str:
    demo = demo_module()
    with tempfile.TemporaryDirectory(prefix="motorium-bench-", ignore_cleanup_errors=True) as scratch, ExitStack() as stack:
        display, server = start_desktop(stack, Path(scratch), "nothing")
        time.sleep(OPEN_SECONDS)
        demo.link_models(Path(scratch))
        [port] = demo.free_ports(1)
        settings = [f"perception.listen=127.0.0.1:{port}", f'perception.displays=["{display}"]']
        flags = [part for setting in settings for part in ("--set", setting)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen([newest_program(), "--data", scratch, *flags], **quiet)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        channel = stack.enter_context(motorium.connect(f"127.0.0.1:{port}"))
        grpc.channel_ready_future(channel).result(timeout=60)
        seen: list[int] = []
        threading.Thread(target=read, args=(eye_grpc.PerceptionServiceStub(channel), pace, seen), daemon=True).start()
        time.sleep(REST_SECONDS)
        before, sent = [cpu_ticks(pid) for pid in (process.pid, server)], len(seen)
        time.sleep(seconds)
        shares = [(cpu_ticks(pid) - ticks) / TICKS / seconds for pid, ticks in zip((process.pid, server), before)]
        return f"| {pace or 'default'} | {shares[0]:.2%} | {shares[1]:.2%} | {len(seen) - sent} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=30)
    asked = parser.parse_args()
    print("| frames per second | Perception | display server | frames sent |\n|---|---|---|---|")
    for pace in (0, 20):
        print(measure(pace, asked.seconds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
