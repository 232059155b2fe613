"""The MCP server, as the official TypeScript SDKs see it: `tools/setup test` installs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import anyio
import httpx2
import pytest
from conftest import MOTORIUM, ROOT, Shop, Stack, opened, token

FOLDER = Path(__file__).parent / "typescript"
# The Node that tools/setup installs where the system has none.
NODE = shutil.which("node", path=f"{ROOT / '.tools/node/bin'}:{os.environ['PATH']}")


def run(settings: dict) -> dict:
    """Runs the client, and returns what it saw."""
    client = subprocess.run(
        [NODE, "client.mjs", json.dumps(settings)], cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False,
    )
    assert client.returncode == 0, client.stderr
    return json.loads(client.stdout)


@pytest.mark.parametrize("over", ["http", "stdio"])
@pytest.mark.parametrize(("sdk", "version"), [("v1", "2025-11-25"), ("v2", "2026-07-28")])
def test_a_client_in_typescript_runs_approves_and_cancels(
    stack: Stack, shop: Shop, tmp_path: Path, sdk: str, version: str, over: str,
) -> None:
    decision = "approve" if over == "http" else "deny"
    settings = {"sdk": sdk, "version": version, "goal": 'click "Delete"', "decision": decision}
    if over == "http":
        settings |= {"url": f"{stack.gateway}/mcp", "token": token("owner")}
    else:
        file = tmp_path / "token"
        file.write_text(token("owner"))
        arguments = ["mcp", "--gateway", stack.gateway, "--token-file", str(file)]
        settings |= {"command": str(MOTORIUM), "args": arguments, "env": stack.environment}
    anyio.run(opened, stack, shop)
    shop.pressed.clear()
    seen = run(settings)
    assert seen["server"] == "motorium" and {"run_task", "approve", "look", "extract"} <= set(seen["tools"])
    assert len(seen["questions"]) == 1 and "Delete" in seen["questions"][0], seen
    assert shop.pressed == (["/delete"] if decision == "approve" else [])
    if decision == "approve":
        assert seen["decided"]["state"] == "succeeded", seen
    assert seen["stopped"] and seen["after"]["state"] == "succeeded", seen


def test_a_client_in_typescript_follows_answers_and_cancels_by_handles(stack: Stack, shop: Shop) -> None:
    settings = {
        "sdk": "v2", "version": "2026-07-28", "tasks": True, "goal": 'click "Delete"', "waiting": "等待 40 秒", "decision": "approve",
        "url": f"{stack.gateway}/mcp", "token": token("owner"),
    }
    anyio.run(opened, stack, shop)
    shop.pressed.clear()
    seen = run(settings)
    assert seen["handle"]["resultType"] == "task" and seen["handle"]["pollIntervalMs"] >= 100
    decided = seen["decided"]
    assert "input_required" in decided["statuses"] and decided["statuses"][-1] == "completed", decided
    assert decided["state"]["result"]["structuredContent"]["state"] == "succeeded", decided
    assert shop.pressed == ["/delete"] and len(seen["questions"]) == 1 and "Delete" in seen["questions"][0]
    assert "nothing that the task asks now" in seen["late"]
    assert seen["cancelled"]["statuses"][-1] == "cancelled", seen["cancelled"]
    # The people who follow the task read why, in its language.
    task = httpx2.get(
        f"{stack.gateway}/api/v1/tasks/{seen['waiting']['taskId'].removeprefix('tasks/')}",
        headers={"authorization": f"Bearer {token('owner')}"}, timeout=10,
    ).json()
    assert "提出此任务的智能体取消了它" in json.dumps(task, ensure_ascii=False), task
