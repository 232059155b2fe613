#!/usr/bin/env python3
"""Generates the stubs of this package from the contract in proto/: `clients/python/generate.py`.

Writes them to src/motorium/<service>/v1/, beside the hand-written modules. They are not committed, because each build
of the package generates them. Requires grpcio-tools, which `tools/setup test` installs into .tools/venv.
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
    # Imported here because only a checkout needs it: an unpacked source distribution has the stubs.
    from grpc_tools import protoc

    sources = sorted(str(path) for path in CONTRACTS.glob("motorium/*/v1/*.proto"))
    if not sources:
        raise SystemExit(f"no .proto files in {CONTRACTS}; generate from a checkout of the whole repository")
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
        raise SystemExit(f"protoc failed with status {status}; see its messages above")
    remove_stubs_without_services()


def remove_stubs() -> None:
    """Removes all stubs, so that none of a deleted .proto file remains. All folders of the package are generated."""
    for folder in PACKAGE.iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)


def remove_stubs_without_services() -> None:
    """Removes empty service stubs, which protoc also writes for files without a service."""
    for stub in PACKAGE.rglob("*_pb2_grpc.py"):
        if not re.search(r"^class \w+Stub\b", stub.read_text(), re.MULTILINE):
            stub.unlink()


if __name__ == "__main__":
    sys.exit(generate())
