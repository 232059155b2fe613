"""Requirements on every service."""

from __future__ import annotations

import subprocess

import grpc
import pytest
from conftest import PROGRAMS, SERVICES, authorization, error_info
from grpc_health.v1 import health_pb2, health_pb2_grpc

INFRASTRUCTURE = {
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
}


@pytest.fixture(params=SERVICES)
def service(request) -> str:
    return request.param


@pytest.fixture
def server(start, service):
    return start(service)


def test_health_is_answered_for_the_server_and_for_the_service(server, service):
    health = health_pb2_grpc.HealthStub(server.channel)

    for name in ("", SERVICES[service]):
        # A service that loads models is NOT_SERVING first.
        answers = health.Watch(health_pb2.HealthCheckRequest(service=name), timeout=60)
        assert any(answer.status == health_pb2.HealthCheckResponse.SERVING for answer in answers)


def test_reflection_lists_exactly_what_is_served(server, service):
    command = ["grpcurl", "-plaintext", "-H", authorization(), server.address, "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)

    assert set(listed.stdout.split()) == {SERVICES[service], *INFRASTRUCTURE}


def test_reflection_describes_every_call(server, service):
    command = ["grpcurl", "-plaintext", "-H", authorization(), server.address, "describe", SERVICES[service]]
    described = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "rpc " in described.stdout


def test_an_unknown_call_is_an_error_with_a_reason(server, service):
    call = server.channel.unary_unary(f"/{SERVICES[service]}/NoSuchCall")

    with pytest.raises(grpc.RpcError) as raised:
        call(b"")

    assert raised.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert (error_info(raised.value).domain, error_info(raised.value).reason) == ("motorium.dev", "NOT_SERVED")


def test_server_stops_on_request(server):
    assert server.stop() == 0


def test_public_address_without_protection_is_refused(service, display, tmp_path):
    refused = subprocess.run(
        [PROGRAMS / f"motorium-{service}", "--data", tmp_path, f"--set={service}.listen=0.0.0.0:0"],
        env={"DISPLAY": display, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert refused.returncode != 0
    assert "without client authentication" in refused.stderr


def test_a_caller_without_the_token_of_the_user_is_refused(server, service):
    with grpc.insecure_channel(server.address) as channel, pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary(f"/{SERVICES[service]}/NoSuchCall")(b"")

    assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
    assert "motorium token" in refused.value.details()


def test_a_token_is_asked_for_where_one_is_configured(start, service):
    server = start(service, **{"server.token": "let-me-in"})
    call = server.channel.unary_unary(f"/{SERVICES[service]}/NoSuchCall")

    with pytest.raises(grpc.RpcError) as without:
        call(b"")
    with pytest.raises(grpc.RpcError) as wrong:
        call(b"", metadata=[("authorization", "Bearer let-me-out")])
    with pytest.raises(grpc.RpcError) as right:
        call(b"", metadata=[("authorization", "Bearer let-me-in")])

    assert without.value.code() == wrong.value.code() == grpc.StatusCode.UNAUTHENTICATED
    assert error_info(without.value).reason == "UNAUTHENTICATED"
    assert right.value.code() == grpc.StatusCode.UNIMPLEMENTED
