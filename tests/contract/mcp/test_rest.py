"""The REST interface: schemathesis sends what their description allows, and what it does not, to the running product."""

from __future__ import annotations

import json
import time

import httpx2
import pytest
import schemathesis
from conftest import Shop, Stack, token
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance, negative_data_rejection, response_schema_conformance, status_code_conformance,
)

OWNER = {"authorization": f"Bearer {token('owner')}"}

# Does not end.
STREAM = "/api/chat/stream"

# Requests for each operation and each kind, chosen alike in every run.
EXAMPLES = settings(
    max_examples=5, deadline=None, phases=[Phase.generate], database=None, derandomize=True, suppress_health_check=list(HealthCheck),
)
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance, negative_data_rejection]
RESOURCES = {
    "/api/v1/tasks", "/api/v1/tasks/{task}", "/api/v1/tasks/{task}/steps", "/api/v1/tasks/{task}/approvals", "/api/v1/approvals",
    "/api/v1/tasks/{task}/approvals/{approval}", "/api/v1/tasks/{task}/frame", "/api/v1/desktops/{desktop}/frame",
    "/api/v1/desktops", "/api/v1/desktops/{desktop}", "/api/v1/sessions", "/api/v1/sessions/{session}", "/api/v1/policy", "/api/v1/policy/test",
    *(f"/api/v1/desktops/{{desktop}}/{command}" for command in ("drain", "undrain")),
    *(f"/api/v1/tasks/{{task}}/{command}" for command in ("cancel", "pause", "resume", "take-over", "hand-back", "messages")),
    *(f"/api/v1/tasks/{{task}}/approvals/{{approval}}/{decision}" for decision in ("approve", "deny")),
}

OPERATIONS = {
    "resources": RESOURCES,
    "chat": {"/api/chat/send", "/api/chat/stop", "/api/chat/ack-user-action", STREAM, "/task", "/task/{id}"},
    "files": {
        "/api/artifacts/tasks/{task}/artifacts/{artifact}", "/api/uploads", "/api/export/tasks/{task}", "/api/export/sessions/{session}",
    },
}

# Take nothing that could be wrong.
WITHOUT_INPUT = {"/api/v1/policy", "/api/uploads"}


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("tag", list(OPERATIONS))
def test_the_interface_is_as_described(stack: Stack, shop: Shop, tag: str, mode: GenerationMode) -> None:
    with httpx2.Client(base_url=stack.gateway, headers=OWNER, timeout=30) as client:
        # Something to list.
        sent = client.post("/api/chat/send", json={"session_id": "rest", "text": f"open {shop.url}"})
        assert sent.status_code == 200, sent.text
    described = schemathesis.openapi.from_url(f"{stack.gateway}/api/openapi.json", headers=OWNER)
    operations = [result.ok() for result in described.include(tag=tag).get_all_operations()]
    assert {operation.path for operation in operations} == OPERATIONS[tag]
    for operation in operations:
        if mode is GenerationMode.NEGATIVE and operation.path in WITHOUT_INPUT:
            continue

        @EXAMPLES
        @given(case=operation.as_strategy(generation_mode=mode))
        def conforms(case) -> None:
            if operation.path == STREAM:
                begins_events(stack, case)
            else:
                case.call_and_validate(headers=OWNER, checks=CHECKS)

        conforms()


def begins_events(stack: Stack, case) -> None:
    """Checks the beginning of a stream, which has no end."""
    parameters, headers = dict(case.query or {}), dict(case.headers or {})
    with httpx2.stream("GET", f"{stack.gateway}{STREAM}", params=parameters, headers=headers | OWNER, timeout=10) as answer:
        if answer.status_code == 200:
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert next(answer.iter_lines()).startswith((":", "retry:", "id:", "event:"))
        else:
            answer.read()
            assert answer.status_code == 400 and answer.json()["error"]["reason"] == "INVALID_FIELD", answer.text


def test_resources_are_those_of_the_calls(stack: Stack, shop: Shop) -> None:
    with httpx2.Client(base_url=stack.gateway, headers=OWNER, timeout=30) as client:
        created = client.post("/task", json={"instruction": "wait 1 seconds"}).json()
        task = client.get(f"/api/v1/tasks/{created['task_id']}").json()
        assert task["name"] == f"tasks/{created['task_id']}" and task["goal"] == "wait 1 seconds" and task["creator"] == "owner"
        first = client.get("/api/v1/tasks", params={"page_size": 1}).json()
        assert first["tasks"][0]["name"] == task["name"]
        assert client.get(f"{task['name'].replace('tasks', '/api/v1/tasks')}/steps").json()["steps"] is not None
        assert client.get(f"/api/v1/tasks/{created['task_id']}/approvals").json() == {"approvals": []}
        [desktop] = client.get("/api/v1/desktops").json()["desktops"]
        assert desktop["name"] == "desktops/local"
        assert client.get("/api/v1/desktops/local").json() == desktop
        unknown = client.get("/api/v1/desktops/none")
        assert (unknown.status_code, unknown.json()["error"]["reason"]) == (404, "DESKTOP_NOT_FOUND")
        assert client.get("/api/v1/sessions").status_code == 200
        missing = client.get("/api/v1/tasks/none")
        assert (missing.status_code, missing.json()["error"]["reason"]) == (404, "TASK_NOT_FOUND")
        wrong = client.get("/api/v1/tasks", params={"state": "lost"})
        assert (wrong.status_code, wrong.json()["error"]["reason"]) == (400, "INVALID_FIELD")
    for caller, status in [("watcher", 200), ("nobody", 401)]:
        answer = httpx2.get(f"{stack.gateway}/api/v1/tasks", headers={"authorization": f"Bearer {token(caller)}"})
        assert answer.status_code == status, caller


def test_a_program_with_only_http_commands_tasks_and_decides_approvals(stack: Stack, shop: Shop) -> None:
    with httpx2.Client(base_url=stack.gateway, headers=OWNER, timeout=30) as client:

        def command(path: str, body: dict | None = None, status: int = 200, **headers: str) -> dict:
            answer = client.post(f"/api/v1/{path}", json=body or {}, headers=headers)
            assert answer.status_code == status, (path, answer.text)
            return answer.json()

        def create(goal: str) -> str:
            return f"tasks/{client.post('/task', json={'instruction': goal}).json()['task_id']}"

        def wait_for(task: str, *states: str) -> dict:
            deadline = time.monotonic() + 20
            while (found := client.get(f"/api/v1/{task}").json())["state"] not in states:
                assert time.monotonic() < deadline, found
                time.sleep(0.1)
            return found

        task = create("wait 40 seconds")
        wait_for(task, "STATE_RUNNING")
        check_frame(client, task)
        assert command(f"{task}/pause")["state"] == "STATE_PAUSED"
        assert command(f"{task}/resume")["state"] == "STATE_RUNNING"
        assert command(f"{task}/messages", {"text": "hurry"})["name"] == task
        assert command(f"{task}/take-over")["state"] == "STATE_AWAITING_USER"
        command(f"{task}/hand-back", {"message": "logged in"})
        key = {"idempotency-key": "stop-1"}
        assert command(f"{task}/cancel", {"reason": "enough"}, **key) == command(f"{task}/cancel", {"reason": "enough"}, **key)
        wait_for(task, "STATE_CANCELLED")
        assert command(f"{task}/pause", status=400)["error"]["reason"] == "TASK_ENDED"
        ended = client.get(f"/api/v1/{task}/frame")
        assert ended.status_code == 400 and ended.json()["error"]["reason"], ended.text
        assert command("tasks/none/cancel", status=404)["error"]["reason"] == "TASK_NOT_FOUND"
        assert command(f"{task}/messages", {}, status=400)["error"]["reason"] == "INVALID_FIELD"

        shop.pressed.clear()
        for decision, state, pressed in [("deny", "STATE_DENIED", []), ("approve", "STATE_APPROVED", ["/delete"])]:
            task = create(f'open {shop.url}, then click "Delete"')
            approval = wait_for(task, "STATE_AWAITING_USER")["user_request"]["approval"]
            assert client.get(f"/api/v1/{approval}").json()["state"] == "STATE_PENDING"
            agent = {"authorization": f"Bearer {token('agent')}"}
            assert command(f"{approval}/{decision}", status=403, **agent)["error"]["reason"] == "ROLE_MISSING"
            assert command(f"{approval}/{decision}", status=403, origin="https://evil.example")["error"]["reason"] == "ORIGIN_DENIED"
            plain = client.post(f"/api/v1/{approval}/{decision}", content="{}", headers={"content-type": "text/plain"})
            assert plain.status_code == 400, plain.text
            assert command(f"{approval}/{decision}", {"message": "by hand"})["state"] == state
            assert client.get(f"/api/v1/{approval}").json()["state"] == state
            wait_for(task, "STATE_SUCCEEDED", "STATE_FAILED")
            assert shop.pressed == pressed
            assert command(f"{approval}/{decision}", status=400)["error"]["reason"] == "APPROVAL_ENDED"


def test_tasks_and_sessions_are_created_and_deleted(stack: Stack) -> None:
    with httpx2.Client(base_url=stack.gateway, headers=OWNER, timeout=30) as client:

        def call(method: str, path: str, body: dict | None = None, status: int = 200, **headers: str) -> dict:
            answer = client.request(method, f"/api/v1/{path}", json=body, headers=headers)
            assert answer.status_code == status, (method, path, answer.text)
            return answer.json()

        session = call("POST", "sessions", {"session_id": "letters", "display_name": "Letters"})
        assert (session["name"], session["display_name"]) == ("sessions/letters", "Letters")
        wanted = {
            "goal": "wait 1 seconds", "session": "letters", "task_id": "first-letter", "instructions": "be quick", "language": "zh",
            "desktop": "local", "labels": {"team": "post"}, "limits": {"max_steps": 7, "max_duration_seconds": 60},
        }
        key = {"idempotency-key": "letter-1"}
        task = call("POST", "tasks", wanted, **key)
        assert call("POST", "tasks", wanted, **key)["name"] == task["name"] == "tasks/first-letter"
        assert (task["session"], task["language"], task["labels"]) == ("sessions/letters", "zh", {"team": "post"})
        assert task["limits"] == {"max_steps": 7, "max_duration": "60s"} and task["desktop_selector"] == {"desktop": "desktops/local"}
        refused = call("DELETE", "tasks/first-letter", status=400)["error"]
        assert refused["reason"] == "TASK_NOT_ENDED", refused
        deadline = time.monotonic() + 20
        while call("GET", "tasks/first-letter")["state"] != "STATE_SUCCEEDED":
            assert time.monotonic() < deadline
            time.sleep(0.1)

        # What is wrong is named as the contract names it.
        for body in [{}, {"goal": ""}, {"goal": "x", "steps": 3}, {"goal": "x", "limits": {"max_steps": -1}}, {"goal": "x", "session": "a/b"}]:
            assert call("POST", "tasks", body, status=400)["error"]["reason"] == "INVALID_FIELD", body
        assert call("POST", "tasks", {"goal": "x", "session": "none"}, status=404)["error"]["reason"] == "SESSION_NOT_FOUND"

        watcher = {"authorization": f"Bearer {token('watcher')}"}
        for method, path, body in [("POST", "tasks", {"goal": "x"}), ("POST", "sessions", {}), ("DELETE", "sessions/letters", None)]:
            assert call(method, path, body, status=403, **watcher)["error"]["reason"] == "ROLE_MISSING"
        foreign = {"origin": "https://evil.example"}
        assert call("DELETE", "sessions/letters", status=403, **foreign)["error"]["reason"] == "ORIGIN_DENIED"
        assert call("DELETE", "sessions/letters", status=400)["error"]["reason"] == "SESSION_NOT_EMPTY"
        assert call("DELETE", "tasks/first-letter") == {}
        assert call("GET", "tasks/first-letter", status=404)["error"]["reason"] == "TASK_NOT_FOUND"
        second = call("POST", "tasks", {"goal": "wait 0 seconds", "session": "letters"})["name"]
        while "end_time" not in call("GET", second):
            assert time.monotonic() < deadline + 20
            time.sleep(0.1)
        assert call("DELETE", "sessions/letters?force=true") == {}
        for gone in (second, "sessions/letters"):
            call("GET", gone, status=404)


def check_frame(client: httpx2.Client, task: str) -> None:
    """Checks that the screen of a task is served as an image, in the size that is asked for."""
    whole = client.get(f"/api/v1/{task}/frame")
    assert (whole.status_code, whole.headers["content-type"]) == (200, "image/jpeg"), whole.text
    assert whole.content.startswith(b"\xff\xd8") and whole.headers["cache-control"] == "no-store"
    about = json.loads(whole.headers["motorium-frame"])
    assert (about["width"], about["height"]) == (about["screen_width"], about["screen_height"])
    small = client.get(f"/api/v1/{task}/frame", params={"width": 200})
    assert 200 <= json.loads(small.headers["motorium-frame"])["width"] < about["width"]
    assert len(small.content) < len(whole.content)
    agent = {"authorization": f"Bearer {token('agent')}"}
    refused = client.get("/api/v1/desktops/local/frame", headers=agent)
    assert refused.status_code == 403, refused.text


def test_a_drained_desktop_receives_tasks_again(stack: Stack) -> None:
    with httpx2.Client(base_url=stack.gateway, headers=OWNER, timeout=30) as client:

        def command(name: str, **headers: str) -> httpx2.Response:
            return client.post(f"/api/v1/desktops/local/{name}", json={}, headers=headers)

        def state() -> str:
            return client.get("/api/v1/desktops").json()["desktops"][0]["state"]

        watcher = {"authorization": f"Bearer {token('watcher')}"}
        assert command("drain").json()["state"] == "STATE_DRAINING" == state()
        assert command("undrain", **watcher).status_code == 403 and state() == "STATE_DRAINING"
        first = command("undrain", **{"idempotency-key": "again-1"})
        assert first.status_code == 200 and first.json()["state"] == "STATE_AVAILABLE" == state(), first.text
        # Sent again, it does nothing: the desktop was drained anew in between.
        command("drain")
        assert command("undrain", **{"idempotency-key": "again-1"}).status_code == 200 and state() == "STATE_DRAINING"
        assert command("undrain").status_code == 200 and state() == "STATE_AVAILABLE"
        created = client.post("/task", json={"instruction": "wait 0.1 seconds"}).json()["task_id"]
        deadline = time.monotonic() + 20
        while client.get(f"/api/v1/tasks/{created}").json()["state"] != "STATE_SUCCEEDED":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        unknown = client.post("/api/v1/desktops/none/undrain", json={})
        assert (unknown.status_code, unknown.json()["error"]["reason"]) == (404, "DESKTOP_NOT_FOUND")


def test_the_policy_is_read(stack: Stack) -> None:
    for caller in ("owner", "watcher"):
        answer = httpx2.get(f"{stack.gateway}/api/v1/policy", headers={"authorization": f"Bearer {token(caller)}"})
        policy = answer.json()
        assert answer.status_code == 200 and policy["name"] == "careful" and policy["built_in"], answer.text
        pay = next(rule for rule in policy["rules"] if rule["id"] == "pay")
        assert pay["effects"] == ["EFFECT_REQUIRE_APPROVAL"] and "pays" in pay["because"]
