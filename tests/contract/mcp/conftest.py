"""`motorium up` on a virtual desktop, with a page whose buttons report what was pressed, for clients of MCP and REST."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio
import httpx2
import pytest

ROOT = Path(__file__).resolve().parents[3]
MOTORIUM = Path(os.environ.get("MOTORIUM_PROGRAMS", ROOT / "target/debug")) / "motorium"
SERVICES = ["orchestrator", "perception", "planner", "executor", "gateway"]

# Tokens of callers, by name, with their roles.
CALLERS = {
    "owner": ["author", "operator", "approver", "admin"],
    # May create tasks, and approve nothing.
    "agent": ["author", "operator"],
    "watcher": ["viewer"],
}

# The buttons are far apart: the policy looks at what is around a target.
PAGE = """<!doctype html><title>Reports</title><body style="font: 24px sans-serif">
<p><button onclick="fetch('/report', {method: 'POST'}); this.textContent = 'Generated'">Generate report</button>
<p>Order number 4711
<p style="margin-top: 400px"><button onclick="fetch('/delete', {method: 'POST'}); this.textContent = 'Deleted'">Delete</button>
"""


class Shop(ThreadingHTTPServer):
    """Serves the page and notes what was pressed on it."""

    def __init__(self) -> None:
        self.pressed: list[str] = []
        self.opened: list[str] = []
        super().__init__(("127.0.0.1", 0), ShopHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class ShopHandler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.opened.append(self.path)
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def do_POST(self) -> None:
        self.server.pressed.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Model(ThreadingHTTPServer):
    """A model that extracts the order number from the screen, as it reads it in the request, and then is done."""

    def __init__(self) -> None:
        self.extracted = False
        super().__init__(("127.0.0.1", 0), ModelHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class ModelHandler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = self.rfile.read(int(self.headers["content-length"])).decode()
        if "You take data from a screen" in request:
            number = re.search(r"Order number (\d+)", request)
            answer: dict = {"data": {"order": number and number[1]}, "sources": {}}
            self.server.extracted = True
        elif self.server.extracted:
            answer = {"next": "done", "message": "It is read."}
        else:
            schema = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
            answer = {"next": "extract", "message": "the order number", "json_schema": json.dumps(schema)}
        says = {"finish_reason": "stop", "message": {"content": json.dumps(answer)}}
        body = json.dumps({"choices": [says], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Stack:
    """A running `motorium up`, with the phrasebook and a model for what that does not know."""

    def __init__(self, folder: Path, model: Model) -> None:
        installed = Path(os.environ.get("MOTORIUM_DATA", Path.home() / ".local/share/motorium"))
        for name in ("models", "onnxruntime"):
            (folder / name).symlink_to(installed / name)
        callers = folder / "callers.toml"
        callers.write_text("".join(
            f'[[caller]]\nname = "{name}"\nroles = {roles}\ntoken = "{token(name)}"\n'.replace("'", '"') for name, roles in CALLERS.items()
        ))
        callers.chmod(0o600)
        environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
        listeners = {f"MOTORIUM_{name.upper()}__LISTEN": "127.0.0.1:0" for name in SERVICES}
        self.environment = environment | listeners | {"MOTORIUM_DATA": str(folder), "LANG": "C.UTF-8"}
        self.files = folder / "files"
        # The page of the tests is on this machine, and what an agent writes opens nothing there that is not listed.
        hosts = 'executor.rules.url_hosts=["*", "127.0.0.1"]'
        settings = [
            f"server.callers_file={callers}", "gateway.direct_actions=true", hosts, 'planner.backends=["phrasebook", "operator"]',
            "planner.backend.operator.provider=own", "planner.backend.operator.model=local-vl", f"planner.providers.own.base_url={model.url}",
        ]
        self.log = (folder / "log").open("w")
        self.process = subprocess.Popen(
            [MOTORIUM, *(part for setting in settings for part in ("--set", setting)), "up", "--virtual-desktop", "--size", "1280x800"],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True,
        )
        self.gateway = ""
        for line in self.process.stdout:
            if found := re.match(r"gateway\s+(\S+)", line):
                self.gateway = f"http://{found[1]}"
            if line.startswith("submit a task"):
                break
        if not self.gateway:
            self.log.flush()
            raise RuntimeError(f"motorium up did not start: {(folder / 'log').read_text()}")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)
        self.log.close()


def token(name: str) -> str:
    """Returns the token of a caller."""
    return f"the-token-of-the-{name}"


@pytest.fixture(scope="session")
def shop() -> Iterator[Shop]:
    server = Shop()
    yield server
    server.shutdown()


@pytest.fixture(scope="session")
def model() -> Iterator[Model]:
    server = Model()
    yield server
    server.shutdown()


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory, model: Model) -> Iterator[Stack]:
    running = Stack(tmp_path_factory.mktemp("motorium"), model)
    yield running
    running.close()


@pytest.fixture(autouse=True)
def no_task_is_left(stack: Stack) -> Iterator[None]:
    """Stops what a failed test has left: later ones would wait for the desktop."""
    yield
    owner = {"authorization": f"Bearer {token('owner')}"}
    with httpx2.Client(base_url=stack.gateway, headers=owner) as client:
        for state in ("pending", "running", "paused", "awaiting_user"):
            for task in client.get("/api/v1/tasks", params={"state": state}).json()["tasks"]:
                client.post("/api/chat/stop", json={"task_id": task["name"]})


async def as_a_person(stack: Stack, goal: str) -> None:
    """Carries out what a person wrote."""
    owner = {"authorization": f"Bearer {token('owner')}"}
    async with httpx2.AsyncClient(base_url=stack.gateway, headers=owner, timeout=60) as person:
        created = await person.post("/task", json={"instruction": goal})
        task = f"/api/v1/tasks/{created.json()['task_id']}"
        with anyio.fail_after(60):
            while (state := (await person.get(task)).json()["state"]) not in ("STATE_SUCCEEDED", "STATE_FAILED", "STATE_AWAITING_USER"):
                await anyio.sleep(0.1)
        assert state == "STATE_SUCCEEDED", state


async def opened(stack: Stack, shop: Shop) -> None:
    """Shows the page anew on the desktop. A person asks for it: agents need approval for servers of this machine."""
    await as_a_person(stack, f'open {shop.url}, then wait for "Delete"')
