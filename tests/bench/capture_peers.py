#!/usr/bin/env python3
"""Measures the capture of a display beside other ways to capture it, in turn and in one run.

    cargo build --workspace --features motorium-perception/driver-xcap,motorium-executor/driver-enigo --examples
    .tools/venv/bin/python tests/bench/capture_peers.py [--rounds 200]

    ours         Perception's driver of X11: shared memory, and only what was drawn since
    ours, xcap   its portable driver, around the crate xcap
    mss          the Python package, as RGB
    scrot        Debian's command, to a PNG at the least compression, if it is installed

On a virtual display of 1920×1080 a browser shows a page. Three tables: nothing is drawn, one line is drawn before each
capture, everything is. Each row has the time on the clock, and the CPU time of the engine and of the display server for
one capture. At the end everybody captures the same still screen, and their pixels are compared.

The engines are processes of their own; ours are called in the process, without gRPC. Their first capture does not count.
"""

import argparse
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".tools/capture-peers"
PINS = ["mss==10.2.0", "pillow==13.0.0"]
SIZE = (1920, 1080)
CAPTURES = ROOT / "target/debug/examples/captures"

PAGE = """<!DOCTYPE html><meta charset="utf-8"><title>Capture</title>
<body style="margin: 0; font: 16px sans-serif"><div id="line" style="padding: 20px">Line</div><div id="all"></div>
<script>
  const text = seed => Array.from({ length: 400 }, (_, word) => (word * 7919 + seed).toString(36)).join(" ");
  document.getElementById("all").textContent = text(1);
  let count = 0;
  const draw = {
    line() { document.getElementById("line").textContent = "Line " + text(count).slice(0, 60) },
    all() { document.body.style.background = "hsl(" + count * 47 % 360 + " 50% 90%)";
            document.getElementById("all").textContent = text(count) },
    still() {},
  };
  onhashchange = () => {};
  setInterval(() => { count++; draw[what]() }, 40);
  let what = "still";
  const source = new EventSource("/what");
  source.onmessage = event => { what = event.data };
</script>"""

MSS = """
import sys, time, mss
with mss.mss(display=sys.argv[1]) as screen:
    for line in sys.stdin:
        began = time.perf_counter_ns()
        shot = screen.grab({"left": 0, "top": 0, "width": %d, "height": %d})
        rgb = shot.rgb
        elapsed = time.perf_counter_ns() - began
        if line.strip():
            open(line.strip(), "wb").write(rgb)
        print(elapsed, flush=True)
""" % SIZE
