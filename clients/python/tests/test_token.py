"""Tests of the token: servers on this machine receive it, others do not, and a file that is not private is refused."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc
import pytest

import motorium
from motorium import _channel, _socket_owner, _token

TOKEN = "a-token-of-this-user"


class Recorder(grpc.GenericRpcHandler):
    """Answers every call, and keeps the `authorization` of each."""

    def __init__(self) -> None:
        self.received: list[str | None] = []

    def service(self, details):
        self.received.append(dict(details.invocation_metadata).get("authorization"))
        if details.method.endswith("Stream"):
            return grpc.unary_stream_rpc_method_handler(lambda _request, _context: iter([b"", b""]))
        return grpc.unary_unary_rpc_method_handler(lambda _request, _context: b"")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return tmp_path / "motorium"


@pytest.fixture
def server() -> Iterator[tuple[str, Recorder]]:
    recorder = Recorder()
    server = grpc.server(futures.ThreadPoolExecutor(1), handlers=[recorder])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}", recorder
    server.stop(None)


def create(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True)
    path = folder / "token"
    path.touch(mode=0o600)
    path.write_text(TOKEN + "\n")
    return path


def test_a_server_of_this_machine_receives_the_token_that_was_created_after_the_channel(folder, server):
    address, recorder = server
    with motorium.connect(address) as channel:
        channel.unary_unary("/motorium.Any/Call")(b"")
        create(folder)
        channel.unary_unary("/motorium.Any/Call")(b"")
        list(channel.unary_stream("/motorium.Any/Stream")(b""))
        channel.unary_unary("/motorium.Any/Call")(b"", metadata=[("authorization", "Bearer mine")])
    with motorium.connect(address, token="another") as channel:
        channel.unary_unary("/motorium.Any/Call")(b"")

    assert recorder.received == [None, f"Bearer {TOKEN}", f"Bearer {TOKEN}", "Bearer mine", "Bearer another"]


@pytest.fixture
def impostor() -> Iterator[int]:
    """A process of another user that listens on a port. Only root can start one."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root can start a process of another user")
    program = (
        "import os, socket; os.setuid(65534); listener = socket.create_server(('127.0.0.1', 0)); "
        "print(listener.getsockname()[1], flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield int(process.stdout.readline())
        process.kill()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "dns:///localhost", "ipv4:127.0.0.1"])
def test_another_user_who_holds_the_port_does_not_receive_it(folder, impostor, host):
    create(folder)
    with motorium.connect(f"{host}:{impostor}") as channel:
        with pytest.raises(PermissionError, match="another user .uid 65534."):
            channel.unary_unary("/motorium.Any/Call")(b"", timeout=5)


@pytest.mark.parametrize("can_ask_kernel", [True, False])
def test_another_user_who_takes_the_port_between_two_calls_does_not_receive_it(folder, impostor, monkeypatch, can_ask_kernel):
    create(folder)
    check = _socket_owner.ServerCheck(f"127.0.0.1:{impostor}")
    with monkeypatch.context() as before:
        # The connections were looked at while another server had the port.
        before.setattr(_socket_owner, "_sockets", lambda: iter(()))
        check.check()
    if not can_ask_kernel:
        monkeypatch.setattr(_socket_owner, "_listeners", lambda _port: None)
    with pytest.raises(PermissionError, match="another user .uid 65534."):
        check.check()


def test_a_socket_of_another_user_does_not_receive_it(folder, tmp_path):
    create(folder)
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        _socket_owner.ServerCheck(f"unix:{path}").check()
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
            with pytest.raises(PermissionError, match="another user"):
                _socket_owner.ServerCheck(f"unix:{path}").check()
    with pytest.raises(PermissionError, match="not known"):
        _socket_owner.ServerCheck("unix-abstract:motorium").check()


def test_another_machine_does_not_receive_it(folder, server, monkeypatch):
    create(folder)
    address, recorder = server
    monkeypatch.setattr(_channel, "is_loopback", lambda _address: False)
    with motorium.connect(address) as channel:
        channel.unary_unary("/motorium.Any/Call")(b"")

    assert recorder.received == [None]
    with pytest.raises(ValueError, match="without encryption"):
        motorium.connect("planner:7702", token="another")


@pytest.mark.parametrize(("of_folder", "of_file"), [(0o700, 0o644), (0o777, 0o600)])
def test_a_file_that_is_not_private_is_refused(folder, of_folder, of_file):
    create(folder).chmod(of_file)
    folder.chmod(of_folder)

    with pytest.raises(PermissionError, match="not private"):
        _token.find_token()


def test_the_home_folder_is_used_without_a_runtime_folder(folder, monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert _token.find_token() is None
    create(folder.parent / "home/.local/state/motorium")

    assert _token.find_token() == TOKEN
