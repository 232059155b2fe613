"""The MCP server, as the official TypeScript SDKs see it: `tools/setup test` installs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import anyio
import pytest
from conftest import MOTORIUM, ROOT, Shop, Stack, opened, token

FOLDER = Path(__file__).parent / "typescript"
# The Node that tools/setup installs where the system has none.
NODE = shutil.which("node", path=f"{ROOT / '.tools/node/bin'}:{os.environ['PATH']}")


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
    client = subprocess.run(
        [NODE, "client.mjs", json.dumps(settings)], cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False,
    )
    assert client.returncode == 0, client.stderr
    seen = json.loads(client.stdout)
    assert seen["server"] == "motorium" and {"run_task", "approve", "look", "extract"} <= set(seen["tools"])
    assert len(seen["questions"]) == 1 and "Delete" in seen["questions"][0], seen
    assert shop.pressed == (["/delete"] if decision == "approve" else [])
    if decision == "approve":
        assert seen["decided"]["state"] == "succeeded", seen
    assert seen["stopped"] and seen["after"]["state"] == "succeeded", seen
