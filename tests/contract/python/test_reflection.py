"""Running a task with generic tools that know the API from reflection only."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess

import pytest
from conftest import PROGRAMS, ROOT, SERVICES, authorization

ORCHESTRATOR = SERVICES["orchestrator"]
BUF_CURL = ["buf", "curl", "--protocol", "grpc", "--http2-prior-knowledge", "--reflect-header", "*"]
GOAL = {"task": {"goal": 'click "Save"'}}


def output_of(*command: str) -> str:
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert finished.returncode == 0, f"{shlex.join(command)}:\n{finished.stderr}"
    return finished.stdout


def documents(text: str) -> list[dict]:
    """Splits concatenated JSON values."""
    found, decoder = [], json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


def grpcurl(server, method: str, message: dict) -> str:
    arguments = ["-plaintext", "-H", authorization(), "-d", json.dumps(message)]
    return output_of("grpcurl", *arguments, server.address, f"{ORCHESTRATOR}/{method}")


def buf_curl(server, method: str, message: dict) -> str:
    address = f"http://{server.address}/{ORCHESTRATOR}/{method}"
    return output_of(*BUF_CURL, "--header", authorization(), "--data", json.dumps(message), address)


def list_with_grpcurl(server) -> str:
    return output_of("grpcurl", "-plaintext", "-H", authorization(), server.address, "list")


def list_with_buf(server) -> str:
    return output_of(*BUF_CURL, "--header", authorization(), "--list-services", f"http://{server.address}")


@pytest.mark.parametrize(
    ("list_services", "call"), [(list_with_grpcurl, grpcurl), (list_with_buf, buf_curl)], ids=["grpcurl", "buf"]
)
def test_a_task_is_created_and_watched(start, list_services, call):
    server = start("orchestrator")

    assert ORCHESTRATOR in list_services(server).split()
    name = json.loads(call(server, "CreateTask", GOAL))["task"]["name"]
    call(server, "CancelTask", {"name": name, "reason": "enough"})
    watched = documents(call(server, "WatchTask", {"name": name}))

    assert watched[0]["snapshot"]["goal"] == GOAL["task"]["goal"]
    events = [message["event"] for message in watched if "event" in message]
    assert "created" in events[0] and events[-1]["cancelled"]["reason"] == "enough"
    assert [int(event["sequence"]) for event in events] == list(range(1, len(events) + 1))


def test_every_message_and_call_is_described(start):
    server = start("orchestrator")

    described = output_of(
        "grpcurl", "-plaintext", "-H", authorization(), server.address, "describe", "motorium.orchestrator.v1.Task"
    )

    assert "string goal" in described


def documented_lines(service: str) -> list[str]:
    """Returns the grpcurl lines in the comment of a service."""
    text = (ROOT / f"proto/motorium/{service}/v1/{service}_service.proto").read_text()
    comment = "\n".join(line.removeprefix("//").strip() for line in text.splitlines() if line.startswith("//"))
    return re.findall(r"^grpcurl .*$", comment.replace("\\\n", ""), flags=re.MULTILINE)


@pytest.mark.parametrize("service", SERVICES)
def test_the_documented_lines_work(start, service):
    server = start(service)
    lines = documented_lines(service)
    assert lines, f"the contract of {service} shows no grpcurl line"
    created = json.loads(grpcurl(server, "CreateTask", GOAL))["task"]["name"] if service == "orchestrator" else ""
    if created:
        grpcurl(server, "CancelTask", {"name": created})

    for line in lines:
        command = re.sub(r"127\.0\.0\.1:\d+", server.address, line).replace("tasks/TASK", created)
        # As a person enters it: the line itself asks for the token.
        output_of("env", f"PATH={PROGRAMS}:{os.environ['PATH']}", "bash", "-c", command)
