"""The MCP server, as the official Python SDK sees it, over HTTP and stdio and in both eras of the protocol."""

from __future__ import annotations

import functools
from typing import ClassVar, Literal

import anyio
import httpx2
import mcp_types as types
import pytest
from conftest import MOTORIUM, Model, Shop, Stack, as_a_person, opened, token
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

WITH_SESSIONS, WITHOUT_SESSIONS = "2025-11-25", "2026-07-28"


class Person:
    """The person at a client, who answers every question in the same way."""

    def __init__(self, action: str = "accept", **content: str) -> None:
        self.answer = types.ElicitResult(action=action, content=content or None)
        self.questions: list[str] = []

    async def ask(self, _: object, question: types.ElicitRequestParams) -> types.ElicitResult:
        self.questions.append(question.message)
        return self.answer


def run(test):
    """Runs an async test, without a plugin for it."""

    @functools.wraps(test)
    def runs(*arguments, **named) -> None:
        anyio.run(functools.partial(test, *arguments, **named))

    return runs


def http(stack: Stack, caller: str):
    client = httpx2.AsyncClient(headers={"authorization": f"Bearer {token(caller)}"}, timeout=60)
    return streamable_http_client(f"{stack.gateway}/mcp", http_client=client)


def connect(stack: Stack, version: str = WITH_SESSIONS, caller: str = "owner", person: Person | None = None) -> Client:
    mode = "legacy" if version == WITH_SESSIONS else "auto"
    return Client(http(stack, caller), mode=mode, elicitation_callback=person.ask if person else None)


@run
async def test_a_task_is_carried_out_and_tells_its_progress(stack: Stack, shop: Shop) -> None:
    lines: list[str] = []

    async def progress(_: float, __: float | None, line: str | None) -> None:
        lines.append(line or "")

    async with connect(stack) as client:
        assert client.protocol_version == WITH_SESSIONS
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["run_task", "get_task", "answer", "approve", "deny", "cancel", "look", "extract", "act"]
        goal = f'open {shop.url}, then click "Generate report"'
        result = await client.call_tool("run_task", {"goal": goal}, progress_callback=progress)
        report = result.structured_content
        assert (report["state"], result.is_error) == ("succeeded", False), report
        assert "/report" in shop.pressed
        assert any("report" in line for line in lines), lines
        again = await client.call_tool("get_task", {"task": report["task"]})
        assert again.structured_content["answer"] == report["answer"] != ""

        seen = await client.call_tool("look")
        delete = next(one for one in seen.structured_content["elements"] if one["text"] == "Delete")
        assert 0 < delete["x"] < 1280 and 0 < delete["y"] < 800
        image = next(part for part in seen.content if isinstance(part, types.ImageContent))
        assert image.mime_type == "image/jpeg" and len(image.data) > 10_000
        # The policy does not know of single actions: the desktop's own rules hold, and its lease.
        acted = await client.call_tool("act", {"action": {"type": "move", "x": delete["x"], "y": delete["y"]}})
        assert acted.structured_content["result"] == "performed", acted.content


@run
async def test_data_is_extracted_in_the_form_of_a_schema(stack: Stack, shop: Shop, model: Model) -> None:
    order = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
    async with connect(stack) as client:
        await opened(stack, shop)

        async def extract(schema: dict):
            model.extracted = False
            return await client.call_tool("extract", {"instruction": "Find the number of the order", "json_schema": schema})

        result = await extract(order)
        assert not result.is_error and result.structured_content["extracted"] == {"order": "4711"}, result.content
        # The model keeps to a form of its own, which is not the requested one.
        unfit = await extract({"type": "object", "required": ["price"]})
        assert unfit.is_error and "does not fit the schema" in unfit.content[0].text, unfit.content
        invalid = await extract({"type": 7})
        assert invalid.is_error and "json_schema" in invalid.content[0].text, invalid.content
        assert shop.pressed == [] or "/delete" not in shop.pressed


@pytest.mark.parametrize("version", [WITH_SESSIONS, WITHOUT_SESSIONS])
@run
async def test_files_of_a_task_are_linked_and_read(stack: Stack, version: str) -> None:
    async with connect(stack, version) as client:
        started = await client.call_tool("run_task", {"goal": "wait 2 seconds", "files": ["report.csv", "none.txt"], "wait_seconds": 0})
        task = started.structured_content["task"]
        # As an application on the desktop does it, while the task runs.
        (desktop,) = stack.files.glob("[!.]*")
        (desktop / "report.csv").write_text("month,sum\nMay,12 €\n")
        result = await client.call_tool("get_task", {"task": task})
        found, missing = result.structured_content["files"]
        assert (found["name"], missing["name"]) == ("report.csv", "none.txt") and "none.txt" in missing["error"], result.content
        (link,) = [part for part in result.content if isinstance(part, types.ResourceLink)]
        assert (link.uri, link.size) == (found["uri"], 21)
        read = await client.read_resource(link.uri)
        assert read.contents[0].text == "month,sum\nMay,12 €\n"
    async with connect(stack, version, caller="watcher") as client:
        assert (await client.read_resource(link.uri)).contents[0].text
        for uri in ["motorium://tasks/none/artifacts/a", "file:///etc/passwd"]:
            with pytest.raises(MCPError):
                await client.read_resource(uri)


@pytest.mark.parametrize("version", [WITH_SESSIONS, WITHOUT_SESSIONS])
@run
async def test_an_action_is_approved_by_the_person_at_the_client(stack: Stack, shop: Shop, version: str) -> None:
    person = Person(decision="approve")
    async with connect(stack, version, person=person) as client:
        assert client.protocol_version == version
        await opened(stack, shop)
        shop.pressed.clear()
        result = await client.call_tool("run_task", {"goal": 'click "Delete"'})
        assert result.structured_content["state"] == "succeeded", result.content
        assert shop.pressed == ["/delete"]
        [question] = person.questions
        assert "Delete" in question and "Reports" in question, question


@pytest.mark.parametrize("person", [None, Person("accept")], ids=["cannot ask", "accepts without a decision"])
@run
async def test_nothing_is_approved_without_a_decision_of_a_person(stack: Stack, shop: Shop, person: Person | None) -> None:
    async with connect(stack, person=person) as client:
        if "Deleted" in str((await client.call_tool("look")).content[0]):
            await opened(stack, shop)
        shop.pressed.clear()
        result = await client.call_tool("run_task", {"goal": 'click "Delete"'})
        report = result.structured_content
        assert report["state"] == "awaiting_user" and report["waits_for"]["kind"] == "approval", result.content
        assert "motorium tasks approve" in report["next"]
        denied = await client.call_tool("deny", {"task": report["task"], "reason": "not this one", "wait_seconds": 0})
        assert not denied.is_error, denied.content
        await client.call_tool("cancel", {"task": report["task"]})
        assert shop.pressed == []


@run
async def test_a_person_cannot_approve_with_a_token_that_may_not(stack: Stack, shop: Shop) -> None:
    person = Person(decision="approve")
    async with connect(stack, caller="agent", person=person) as client:
        await opened(stack, shop)
        shop.pressed.clear()
        result = await client.call_tool("run_task", {"goal": 'click "Delete"'})
        assert result.is_error and "ROLE_MISSING" in result.content[0].text, result.content
        assert person.questions and shop.pressed == []
        refused = await client.call_tool("look")
        assert refused.is_error and "ROLE_MISSING" in refused.content[0].text
    async with connect(stack, caller="watcher") as client:
        refused = await client.call_tool("run_task", {"goal": 'click "Generate report"'})
        assert refused.is_error and "ROLE_MISSING" in refused.content[0].text


@run
async def test_what_an_agent_writes_opens_no_private_host(stack: Stack, shop: Shop) -> None:
    port = shop.url.split(":")[2].strip("/")
    async with connect(stack) as client:
        result = await client.call_tool("run_task", {"goal": f"open http://localhost:{port}/by-an-agent", "wait_seconds": 20})
        assert result.structured_content["state"] != "succeeded", result.content
        await client.call_tool("cancel", {"task": result.structured_content["task"]})
        assert "/by-an-agent" not in shop.opened
    # A person who writes the same opens it.
    await as_a_person(stack, f"open http://localhost:{port}/by-a-person, then wait for \"Delete\"")
    assert "/by-a-person" in shop.opened


@run
async def test_an_answer_belongs_to_the_question_of_this_server(stack: Stack) -> None:
    async with connect(stack, WITHOUT_SESSIONS, person=Person()) as client:
        answer = types.ElicitResult(action="accept", content={"decision": "approve"})
        for forged in ["", "tasks/a", "eyJ0YXNrIjoidGFza3MvYSJ9"]:
            with pytest.raises(MCPError, match="request state"):
                await client.session.call_tool(
                    "approve", {"task": "tasks/a"}, input_responses={"approval": answer}, request_state=forged, allow_input_required=True,
                )


@run
async def test_a_cancelled_call_stops_its_task(stack: Stack) -> None:
    async with connect(stack) as client:
        with anyio.move_on_after(1.5):
            await client.call_tool("run_task", {"goal": "wait 40 seconds"})
        started = await client.call_tool("run_task", {"goal": "wait 1 seconds", "wait_seconds": 20})
        # It would have waited for the desktop otherwise.
        assert started.structured_content["state"] == "succeeded", started.content


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@run
async def test_an_agent_starts_the_server_as_a_program(stack: Stack, shop: Shop, tmp_path, mode: str) -> None:
    file = tmp_path / "token"
    file.write_text(token("owner"))
    program = StdioServerParameters(
        command=str(MOTORIUM), args=["mcp", "--gateway", stack.gateway, "--token-file", str(file)], env=stack.environment,
    )
    person = Person(decision="deny", reason="not today")
    async with Client(stdio_client(program), mode=mode, elicitation_callback=person.ask) as client:
        shop.pressed.clear()
        goal = f'open {shop.url}, click "Generate report"' if mode == "legacy" else 'click "Delete"'
        result = await client.call_tool("run_task", {"goal": goal})
        if mode == "legacy":
            assert shop.pressed == ["/report"] and not result.is_error, result.content
        else:
            assert shop.pressed == [] and len(person.questions) == 1, result.content


@run
async def test_other_pages_and_callers_are_refused(stack: Stack) -> None:
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    initialize = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": WITH_SESSIONS, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    }

    # A refused request's body is not read, and its connection not used again.
    async with httpx2.AsyncClient(base_url=stack.gateway, limits=httpx2.Limits(max_keepalive_connections=0)) as client:
        async def post(caller: str | None, body: dict = initialize, **more: str):
            own = {"authorization": f"Bearer {token(caller)}"} if caller else {}
            return await client.post("/mcp", json=body, headers=headers | own | {name.replace("_", "-"): value for name, value in more.items()})

        assert (await post(None)).status_code == 401
        assert (await post("nobody")).status_code == 401
        for origin in ["https://evil.example", "null", "http://127.0.0.1:1"]:
            assert (await post("owner", origin=origin)).status_code == 403, origin
        assert (await post("owner", host="evil.example")).status_code == 403
        assert (await post("owner", sec_fetch_site="cross-site")).status_code == 403

        opened = await post("owner")
        session = opened.headers["mcp-session-id"]
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert (await post("owner", listing, mcp_session_id=session)).status_code == 200
        assert (await post("agent", listing, mcp_session_id=session)).status_code == 404
        stolen = headers | {"authorization": f"Bearer {token('agent')}", "mcp-session-id": session}
        assert (await client.get("/mcp", headers=stolen)).status_code == 404
        assert (await client.delete("/mcp", headers=stolen)).status_code == 404
        assert (await post("owner", listing, mcp_session_id=session)).status_code == 200
        statuses = {(await post("watcher")).status_code for _ in range(25)}
        assert statuses == {200, 429}


class Handle(types.Result):
    """A handle of a task, in place of the result of a call."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    poll_interval_ms: int | None = None
    ttl_ms: int | None


class TaskParams(types.RequestParams):
    task_id: str
    input_responses: dict[str, dict] | None = None


class TaskRequest(types.Request[TaskParams, str]):
    """A request of the Tasks extension, for which the SDK has no types of its own yet."""

    name_param: ClassVar[str] = "taskId"


class TaskState(types.Result):
    model_config = {"extra": "allow"}
    task_id: str | None = None
    status: str | None = None
    status_message: str | None = None
    input_requests: dict[str, dict] = {}
    result: dict = {}


class Tasks(ClientExtension):
    """The Tasks extension at a client: it polls, asks the person, and cancels if it is told to."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, person: Person | None = None, cancels: bool = False) -> None:
        self.person, self.cancels = person, cancels
        self.handles: list[Handle] = []
        self.seen: list[TaskState] = []

    def claims(self) -> list[ResultClaim]:
        return [ResultClaim(result_type="task", model=Handle, resolve=self.resolve)]

    async def resolve(self, handle: Handle, context: ClaimContext) -> types.CallToolResult:
        self.handles.append(handle)
        if self.cancels:
            await self.request(context.session, "tasks/cancel", handle.task_id)
        with anyio.fail_after(30):
            while True:
                state = await self.request(context.session, "tasks/get", handle.task_id)
                if not self.seen or self.seen[-1].status != state.status:
                    self.seen.append(state)
                if state.status == "completed":
                    return types.CallToolResult.model_validate(state.result)
                if state.status == "cancelled":
                    return types.CallToolResult(content=[], is_error=True)
                if state.status == "input_required":
                    answers = {key: await self.answer(asked) for key, asked in state.input_requests.items()}
                    await self.request(context.session, "tasks/update", handle.task_id, answers)
                await anyio.sleep(0.1)

    async def answer(self, asked: dict) -> dict:
        assert self.person is not None, asked
        self.person.questions.append(asked["params"]["message"])
        return self.person.answer.model_dump(by_alias=True, exclude_none=True)

    async def request(self, session, method: str, task: str, answers: dict | None = None) -> TaskState:
        request = TaskRequest(method=method, params=TaskParams(task_id=task, input_responses=answers))
        return await session.send_request(request, TaskState)


@run
async def test_a_client_with_the_tasks_extension_gets_a_handle_and_asks_for_the_result(stack: Stack, shop: Shop) -> None:
    tasks = Tasks()
    await opened(stack, shop)
    async with Client(http(stack, "owner"), extensions=[tasks]) as client:
        # It does not wait, whatever the arguments say: the handle is returned at once.
        result = await client.call_tool("run_task", {"goal": 'click "Generate report"', "wait_seconds": 50})
        report = result.structured_content
        assert (report["state"], result.is_error) == ("succeeded", False), report
        (handle,) = tasks.handles
        assert handle.status == "working" and report["task"] == f"tasks/{handle.task_id}" and handle.poll_interval_ms == 1000
        assert [state.status for state in tasks.seen] == ["working", "completed"]
        # Other tools are what they are without it.
        assert (await client.call_tool("get_task", {"task": report["task"]})).structured_content["answer"] == report["answer"]

        failed = await client.call_tool("run_task", {"goal": "wait 0.1 seconds, then wait 0.1 seconds", "max_steps": 1})
        assert failed.is_error and failed.structured_content["state"] == "failed", failed.content
        with pytest.raises(MCPError, match="TASK_NOT_FOUND"):
            await tasks.request(client.session, "tasks/get", "none")
    # A session cannot carry a handle, and a client that does not claim it gets the result itself.
    async with connect(stack, WITHOUT_SESSIONS) as client:
        result = await client.call_tool("run_task", {"goal": "wait 0.1 seconds"})
        assert result.structured_content["state"] == "succeeded"
        with pytest.raises(MCPError):
            await tasks.request(client.session, "tasks/get", handle.task_id)


@run
async def test_what_a_handle_asks_is_answered_by_the_person_at_the_client(stack: Stack, shop: Shop) -> None:
    person = Person(decision="approve")
    tasks = Tasks(person)
    await opened(stack, shop)
    async with Client(http(stack, "owner"), extensions=[tasks], elicitation_callback=person.ask) as client:
        shop.pressed.clear()
        result = await client.call_tool("run_task", {"goal": 'click "Delete"'})
        assert result.structured_content["state"] == "succeeded", result.content
        assert shop.pressed == ["/delete"] and len(person.questions) == 1 and "Delete" in person.questions[0]
        (asked,) = [state for state in tasks.seen if state.status == "input_required"]
        (key,) = asked.input_requests
        # It was answered: later answers decide nothing.
        with pytest.raises(MCPError, match="nothing that the task asks now"):
            await tasks.request(client.session, "tasks/update", tasks.handles[0].task_id, {key: person.answer.model_dump()})

    # Without the role of an approver, what a person at the client says decides nothing, and nothing is pressed.
    await opened(stack, shop)
    tasks = Tasks(person)
    async with Client(http(stack, "agent"), extensions=[tasks], elicitation_callback=person.ask) as client:
        shop.pressed.clear()
        with pytest.raises(MCPError, match="ROLE_MISSING"):
            await client.call_tool("run_task", {"goal": 'click "Delete"'})
    # Nor does a caller who may only look see to it that it ends.
    async with Client(http(stack, "watcher"), extensions=[tasks], elicitation_callback=person.ask) as client:
        (handle,) = tasks.handles
        assert (await tasks.request(client.session, "tasks/get", handle.task_id)).status == "input_required"
        with pytest.raises(MCPError, match="ROLE_MISSING"):
            await tasks.request(client.session, "tasks/cancel", handle.task_id)
        assert shop.pressed == []


@run
async def test_a_handle_is_cancelled(stack: Stack) -> None:
    tasks = Tasks(cancels=True)
    async with Client(http(stack, "owner"), extensions=[tasks]) as client:
        await client.call_tool("run_task", {"goal": "wait 40 seconds"})
        assert tasks.seen[-1].status == "cancelled"
        # The desktop is free again.
        tasks.cancels = False
        assert (await client.call_tool("run_task", {"goal": "wait 0.1 seconds"})).structured_content["state"] == "succeeded"
