"""Fixtures that start the real programs, as an operator would; the tests call them with generated stubs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

import motorium
from motorium import _token

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(os.environ.get("MOTORIUM_PROGRAMS", ROOT / "target/debug"))

# The services that can run alone, with their fully qualified proto names.
SERVICES = {
    "orchestrator": "motorium.orchestrator.v1.OrchestratorService",
    "perception": "motorium.perception.v1.PerceptionService",
    "planner": "motorium.planner.v1.PlannerService",
    "executor": "motorium.executor.v1.ExecutorService",
}


class Server:
    """One service as a process, ready for calls. `settings` are configuration keys."""

    def __init__(self, service: str, data: Path, display: str, listen: str = "127.0.0.1:0", **settings: str) -> None:
        settings = {f"{service}.listen": listen, "log.format": "json", **settings}
        self.process = subprocess.Popen(
            [PROGRAMS / f"motorium-{service}", "--data", data, *(f"--set={key}={value}" for key, value in settings.items())],
            env={**os.environ, "DISPLAY": display},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log: list[dict | str] = []
        self.address = ""
        self._ready = threading.Event()
        threading.Thread(target=self._read_log, daemon=True).start()
        self._ready.wait(timeout=30)
        if not self.address:
            raise RuntimeError(f"motorium-{service} did not become ready: {self.log}")
        self.channel = motorium.connect(self.address)

    def _read_log(self) -> None:
        for line in self.process.stderr:
            try:
                entry = json.loads(line)
            except ValueError:
                entry = line
            self.log.append(entry)
            fields = entry.get("fields", entry) if isinstance(entry, dict) else {}
            if fields.get("message") == "ready":
                self.address = fields["address"]
                self._ready.set()
        self._ready.set()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Stops the service as a supervisor does; returns its exit status."""
        self.process.terminate()
        return self.process.wait(timeout=30)

    def close(self) -> None:
        self.channel.close()
        if self.process.poll() is None:
            self.kill()


@pytest.fixture(scope="session")
def display() -> Iterator[str]:
    """A private display. The server chooses a free number and prints it once it is ready."""
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", "1", "-noreset", "-nolisten", "tcp", "-screen", "0", "1280x800x24"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    yield f":{server.stdout.readline().strip()}"
    server.terminate()
    server.wait()


@pytest.fixture
def start(tmp_path: Path, display: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Server]]:
    """Starts services and stops them after the test. All services of a test share one data folder and one token."""
    servers: list[Server] = []
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    # For the services and for the tests' own clients.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    data = data_folder(tmp_path)

    def start(service: str, **options: str) -> Server:
        servers.append(Server(service, data, display, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def data_folder(tmp_path: Path) -> Path:
    """Creates a data folder that contains only the models."""
    data = tmp_path / "data"
    data.mkdir()
    installed = Path(os.environ.get("MOTORIUM_DATA", Path.home() / ".local/share/motorium"))
    for name in ("models", "onnxruntime"):
        (data / name).symlink_to(installed / name)
    return data


def authorization() -> str:
    """Returns the header that calls to the services of the test need, in the form of grpcurl and buf."""
    return f"authorization: Bearer {_token.find_token()}"


def error_info(error: grpc.RpcError) -> error_details_pb2.ErrorInfo:
    """Returns the ErrorInfo of an error, which every error of a service carries."""
    return detail(error, error_details_pb2.ErrorInfo())


def detail(error: grpc.RpcError, message):
    status = rpc_status.from_call(error)
    assert status is not None, f"{error.code()}: {error.details()} carries no details"
    for packed in status.details:
        if packed.Unpack(message):
            return message
    raise AssertionError(f"{status} has no {message.DESCRIPTOR.full_name}")
