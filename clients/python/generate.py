#!/usr/bin/env python3
"""Generates the stubs of this package from the contracts in proto/: `clients/python/generate.py`.

They go to src/motorium/<service>/v1/, beside what is written by hand, and are not committed: building the package
generates them too. It needs grpcio-tools, which `tools/setup test` puts into .tools/venv.
"""

import re
import shutil
import sys
from importlib.resources import files
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONTRACTS = HERE.parent.parent / "proto"
PACKAGE = HERE / "src/motorium"


def generate() -> None:
    # Not at the top: only a checkout needs it, an unpacked source distribution brings the stubs along.
    from grpc_tools import protoc

    sources = sorted(str(path) for path in CONTRACTS.glob("motorium/*/v1/*.proto"))
    if not sources:
        raise SystemExit(f"there are no contracts in {CONTRACTS}; generate from a checkout of the whole repository")
    remove_stubs()
    output = PACKAGE.parent
    status = protoc.main([
        "protoc",
        f"--proto_path={CONTRACTS}",
        f"--proto_path={files('grpc_tools') / '_proto'}",
        f"--python_out={output}",
        f"--pyi_out={output}",
        f"--grpc_python_out={output}",
        *sources,
    ])
    if status != 0:
        raise SystemExit(f"protoc ended with {status}; what it says stands above")
    remove_stubs_without_services()


def remove_stubs() -> None:
    """So that nothing is left of a contract that is gone. Generated are exactly the folders."""
    for folder in PACKAGE.iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)


def remove_stubs_without_services() -> None:
    """protoc writes a service stub for every file, also for those that have none."""
    for stub in PACKAGE.rglob("*_pb2_grpc.py"):
        if not re.search(r"^class \w+Stub\b", stub.read_text(), re.MULTILINE):
            stub.unlink()


if __name__ == "__main__":
    sys.exit(generate())
