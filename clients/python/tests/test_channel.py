"""Tests of `connect` against a real server, in an environment with a proxy that takes no connections."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures

import grpc
import pytest

import motorium
from motorium import _target


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        # Port 9 (discard) of the loopback address takes no connections.
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = grpc.server(futures.ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield port
    server.stop(None)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "ipv4:127.0.0.1"])
def test_loopback_is_reached_without_the_proxy(port: int, host: str) -> None:
    with motorium.connect(f"{host}:{port}") as channel:
        grpc.channel_ready_future(channel).result(timeout=10)


def test_other_machines_are_reached_through_the_proxy(port: int) -> None:
    with motorium.connect(f"example.invalid:{port}") as channel:
        call = channel.unary_unary("/motorium.Any/Call")
        with pytest.raises(grpc.RpcError) as failed:
            call(b"", timeout=10)
    assert failed.value.code() == grpc.StatusCode.UNAVAILABLE
    assert "127.0.0.1:9" in failed.value.details()


@pytest.mark.parametrize(
    ("address", "is_loopback"),
    [
        ("127.0.0.1:7700", True),
        ("127.8.0.1:7700", True),
        ("localhost:7700", True),
        ("[::1]:7700", True),
        ("ipv6:[::1]:7700", True),
        ("dns:///localhost:7700", True),
        ("unix:/run/motorium.sock", True),
        ("10.0.0.1:7700", False),
        ("localhost.example.org:7700", False),
        ("[2001:db8::1]:7700", False),
        ("motorium:7700", False),
        ("::1", True),
        ("localhost", True),
    ],
)
def test_loopback_addresses_are_recognised(address: str, is_loopback: bool) -> None:
    assert _target.is_loopback(address) is is_loopback
