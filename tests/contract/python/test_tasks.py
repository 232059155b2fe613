"""The Orchestrator's task methods. There is no desktop, so tasks wait for one until they are cancelled."""

from __future__ import annotations

import threading
import uuid

import grpc
import pytest
from conftest import detail, error_info
from google.rpc import error_details_pb2

import motorium
from motorium.orchestrator.v1 import orchestrator_service_pb2 as api
from motorium.orchestrator.v1 import orchestrator_service_pb2_grpc, task_pb2

GOAL = 'click "Save"'
ENDED = {task_pb2.Task.STATE_SUCCEEDED, task_pb2.Task.STATE_FAILED, task_pb2.Task.STATE_CANCELLED}


def stub(server) -> orchestrator_service_pb2_grpc.OrchestratorServiceStub:
    return orchestrator_service_pb2_grpc.OrchestratorServiceStub(server.channel)


@pytest.fixture
def orchestrator(start):
    return stub(start("orchestrator"))


def create(orchestrator, goal: str = GOAL, session: str = "", **fields) -> task_pb2.Task:
    task = task_pb2.Task(goal=goal, session=session)
    return orchestrator.CreateTask(api.CreateTaskRequest(task=task, **fields)).task


def refusal(call, request) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as raised:
        call(request)
    return raised.value


def test_a_created_task_can_be_got(orchestrator):
    created = create(orchestrator, task_id="first")

    assert created.name == "tasks/first"
    assert created.goal == GOAL
    got = orchestrator.GetTask(api.GetTaskRequest(name=created.name)).task
    assert (got.name, got.uid, got.goal) == (created.name, created.uid, GOAL)


def test_a_task_that_is_not_there(orchestrator):
    error = refusal(orchestrator.GetTask, api.GetTaskRequest(name="tasks/none"))

    assert error.code() == grpc.StatusCode.NOT_FOUND
    assert (error_info(error).domain, error_info(error).reason) == ("motorium.dev", "TASK_NOT_FOUND")


def test_a_task_without_a_goal_names_the_field(orchestrator):
    error = refusal(orchestrator.CreateTask, api.CreateTaskRequest(task=task_pb2.Task()))

    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    violations = detail(error, error_details_pb2.BadRequest()).field_violations
    assert [violation.field for violation in violations] == ["task.goal"]


def test_a_request_id_makes_creation_repeatable(orchestrator):
    request_id = str(uuid.uuid4())

    first = create(orchestrator, request_id=request_id)
    again = create(orchestrator, request_id=request_id)

    assert again.name == first.name
    assert len(orchestrator.ListTasks(api.ListTasksRequest()).tasks) == 1


def test_a_request_id_cannot_stand_for_something_else(orchestrator):
    request_id = str(uuid.uuid4())
    create(orchestrator, request_id=request_id)

    other = api.CreateTaskRequest(task=task_pb2.Task(goal='click "Open"'), request_id=request_id)
    error = refusal(orchestrator.CreateTask, other)

    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert error_info(error).reason == "REQUEST_ID_REUSED"


def test_pages_give_every_task_once_and_the_newest_first(orchestrator):
    created = [create(orchestrator).name for _ in range(5)]

    listed, token = [], ""
    while True:
        page = orchestrator.ListTasks(api.ListTasksRequest(page_size=2, page_token=token))
        assert len(page.tasks) <= 2
        listed += [task.name for task in page.tasks]
        token = page.next_page_token
        if not token:
            break

    assert listed == created[::-1]


def test_a_negative_page_size_is_refused(orchestrator):
    error = refusal(orchestrator.ListTasks, api.ListTasksRequest(page_size=-1))

    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_a_watch_begins_with_the_task_and_ends_with_its_end(orchestrator):
    name = create(orchestrator).name
    orchestrator.CancelTask(api.CancelTaskRequest(name=name, reason="enough"))

    messages = list(motorium.watch_task(orchestrator, name))

    assert messages[0].snapshot.name == name
    assert_gapless(messages)
    assert messages[1].event.WhichOneof("kind") == "created"
    assert messages[-1].event.WhichOneof("kind") == "cancelled"
    assert messages[1].event.state == task_pb2.Task.STATE_PENDING
    assert messages[-1].event.state == task_pb2.Task.STATE_CANCELLED


def test_a_watch_of_a_session_has_the_tasks_from_before_and_after_its_start(orchestrator):
    session = orchestrator.CreateSession(api.CreateSessionRequest()).session.name
    names = [create(orchestrator, session=session).name]
    create(orchestrator)
    watch = motorium.watch_session(orchestrator, session)
    messages = [next(watch), next(watch)]
    names.append(create(orchestrator, session=session).name)
    for name in names:
        orchestrator.CancelTask(api.CancelTaskRequest(name=name))

    ended = set()
    while ended != set(names):
        messages.append(next(watch))
        if messages[-1].event.state in ENDED:
            ended.add(messages[-1].event.task)

    assert messages[0].snapshot.name == session
    for name in names:
        assert_gapless([message for message in messages if message.event.task == name])


def test_a_watch_continues_after_any_token(orchestrator):
    name = create(orchestrator).name
    orchestrator.CancelTask(api.CancelTaskRequest(name=name))
    everything = [message for message in motorium.watch_task(orchestrator, name) if message.HasField("event")]

    for position, message in enumerate(everything):
        rest = list(motorium.watch_task(orchestrator, name, resume_token=message.resume_token))
        assert [later.event.sequence for later in rest] == [
            later.event.sequence for later in everything[position + 1 :]
        ]


def test_a_watch_and_its_task_survive_a_crash(start):
    first = start("orchestrator")
    name = create(stub(first)).name
    messages, has_begun = [], threading.Event()

    def watch() -> None:
        for message in motorium.watch_task(stub(first), name):
            messages.append(message)
            if message.HasField("event"):
                has_begun.set()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    assert has_begun.wait(timeout=20)

    first.kill()
    second = stub(start("orchestrator", listen=first.address))
    second.CancelTask(api.CancelTaskRequest(name=name), wait_for_ready=True)
    watcher.join(timeout=30)

    assert not watcher.is_alive()
    assert_gapless(messages)
    assert second.GetTask(api.GetTaskRequest(name=name)).task.state in ENDED


def assert_gapless(messages: list[api.WatchTaskResponse]) -> None:
    sequences = [message.event.sequence for message in messages if message.HasField("event")]
    assert sequences == list(range(1, len(sequences) + 1))
