"""Tests of `watch_task` against a real gRPC server that ends and breaks connections as servers do."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures

import grpc
import pytest

import motorium
from motorium.orchestrator.v1 import event_pb2, task_pb2
from motorium.orchestrator.v1 import orchestrator_service_pb2 as api
from motorium.orchestrator.v1 import orchestrator_service_pb2_grpc as services

NAME = "tasks/one"
LAST = 5

# Behaviour of the server at the end of a watch. Gets the call and the number of the last event sent.
End = Callable[[grpc.ServicerContext, int], None]


def ends_well(context: grpc.ServicerContext, sequence: int) -> None:
    pass


def breaks_off(code: grpc.StatusCode) -> End:
    return lambda context, sequence: context.abort(code, "gone")


class Orchestrator(services.OrchestratorServiceServicer):
    """Has one task with five events, the last of which ends it. Each watch has a number of events and an end."""

    def __init__(self, *watches: tuple[int, End]) -> None:
        self.watches = list(watches)
        self.tokens: list[str] = []
        # Of each call, whether the client has left it.
        self.left: list[threading.Event] = []

    def follow(self, context: grpc.ServicerContext) -> None:
        left = threading.Event()
        self.left.append(left)
        context.add_callback(left.set)

    def WatchTask(self, request, context) -> Iterator[api.WatchTaskResponse]:
        if request.name != NAME:
            context.abort(grpc.StatusCode.NOT_FOUND, "there is no such task")
        self.tokens.append(request.resume_token)
        self.follow(context)
        count, end = self.watches.pop(0)
        sequence = int(request.resume_token or 0)
        if not request.resume_token:
            yield api.WatchTaskResponse(snapshot=task_pb2.Task(name=NAME))
        yield api.WatchTaskResponse(resume_token=request.resume_token, heartbeat=api.Heartbeat())
        for sequence in range(sequence + 1, min(sequence + count, LAST) + 1):
            yield api.WatchTaskResponse(resume_token=str(sequence), event=event(sequence))
        end(context, sequence)

    def WatchSession(self, request, context) -> Iterator[api.WatchSessionResponse]:
        self.tokens.append(request.resume_token)
        self.follow(context)
        count, end = self.watches.pop(0)
        sequence = int(request.resume_token or 0)
        if not request.resume_token:
            yield api.WatchSessionResponse(snapshot=task_pb2.Session(name=request.name))
        yield api.WatchSessionResponse(resume_token=request.resume_token, heartbeat=api.Heartbeat())
        for sequence in range(sequence + 1, sequence + count + 1):
            yield api.WatchSessionResponse(resume_token=str(sequence), event=event(sequence))
        end(context, sequence)

    def GetTask(self, request, context) -> api.GetTaskResponse:
        return api.GetTaskResponse(task=task_pb2.Task(name=NAME, state=task_pb2.Task.STATE_SUCCEEDED))


def event(sequence: int) -> event_pb2.Event:
    if sequence == LAST:
        end = event_pb2.TaskSucceeded(answer="done")
        return event_pb2.Event(task=NAME, sequence=sequence, state=task_pb2.Task.STATE_SUCCEEDED, succeeded=end)
    return event_pb2.Event(task=NAME, sequence=sequence, progress_added=event_pb2.ProgressAdded(text="…"))


@pytest.fixture
def serve():
    """Starts a server with this orchestrator and returns a connected stub."""
    cleanup = []

    def start(orchestrator: Orchestrator) -> services.OrchestratorServiceStub:
        server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
        services.add_OrchestratorServiceServicer_to_server(orchestrator, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        channel = motorium.connect(f"127.0.0.1:{port}")
        cleanup.extend([channel.close, lambda: server.stop(grace=None).wait()])
        return services.OrchestratorServiceStub(channel)

    yield start
    for step in cleanup:
        step()


def sequences(messages: Iterator[api.WatchTaskResponse]) -> list[int]:
    return [message.event.sequence for message in messages if message.HasField("event")]


def test_watch_delivers_every_event_until_the_task_ends(serve):
    messages = list(motorium.watch_task(serve(Orchestrator((LAST, ends_well))), NAME))

    assert [message.WhichOneof("content") for message in messages] == ["snapshot"] + ["event"] * LAST
    assert messages[-1].event.succeeded.answer == "done"


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN, grpc.StatusCode.CANCELLED]
)
def test_a_broken_watch_loses_nothing_and_repeats_nothing(serve, code):
    end = breaks_off(code)
    orchestrator = Orchestrator((2, end), (0, end), (1, end), (LAST, ends_well))

    assert sequences(motorium.watch_task(serve(orchestrator), NAME)) == [1, 2, 3, 4, 5]
    assert orchestrator.tokens == ["", "2", "2", "3"]


def test_a_watch_that_the_server_ends_is_continued(serve):
    orchestrator = Orchestrator((2, ends_well), (1, ends_well), (LAST, ends_well))

    assert sequences(motorium.watch_task(serve(orchestrator), NAME)) == [1, 2, 3, 4, 5]
    assert orchestrator.tokens == ["", "2", "3"]


def test_continues_after_a_token(serve):
    stub = serve(Orchestrator((LAST, ends_well)))

    assert sequences(motorium.watch_task(stub, NAME, resume_token="3")) == [4, 5]


def test_token_of_the_last_event_yields_no_messages(serve):
    stub = serve(Orchestrator((LAST, ends_well), (LAST, ends_well)))

    assert list(motorium.watch_task(stub, NAME, resume_token=str(LAST))) == []


def test_a_task_that_is_not_there_is_an_error_at_once(serve):
    with pytest.raises(grpc.RpcError) as raised:
        list(motorium.watch_task(serve(Orchestrator()), "tasks/other"))

    assert raised.value.code() == grpc.StatusCode.NOT_FOUND


def test_leaving_the_loop_ends_the_call(serve):
    orchestrator = Orchestrator((1, lambda context, sequence: orchestrator.left[-1].wait()))

    for message in motorium.watch_task(serve(orchestrator), NAME):
        if message.HasField("event"):
            break

    assert orchestrator.left[-1].wait(timeout=10)


def test_a_watch_of_a_session_continues_after_breaks_and_ends(serve):
    orchestrator = Orchestrator((2, breaks_off(grpc.StatusCode.UNAVAILABLE)), (1, ends_well), (LAST, ends_well))
    watch = motorium.watch_session(serve(orchestrator), "sessions/one")

    assert next(watch).snapshot.name == "sessions/one"
    # The end of a task, event 5, does not end the watch.
    assert [next(watch).event.sequence for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    assert orchestrator.tokens == ["", "2", "3"]


def test_a_refused_watch_of_a_session_is_an_error_at_once(serve):
    orchestrator = Orchestrator((0, breaks_off(grpc.StatusCode.OUT_OF_RANGE)))

    with pytest.raises(grpc.RpcError) as raised:
        list(motorium.watch_session(serve(orchestrator), "sessions/one", resume_token="9"))

    assert raised.value.code() == grpc.StatusCode.OUT_OF_RANGE


def test_silent_server_is_reported_and_the_watch_resumes(serve, caplog):
    def stands_still(context: grpc.ServicerContext, sequence: int) -> None:
        orchestrator.left[-1].wait(timeout=10)

    orchestrator = Orchestrator((2, stands_still), (1, stands_still), (LAST, ends_well))
    silences: list[float] = []
    watch = motorium.watch_task(serve(orchestrator), NAME, silence_seconds=0.5, on_silence=silences.append)

    assert sequences(watch) == [1, 2, 3, 4, 5]
    assert orchestrator.tokens == ["", "2", "3"]
    assert len(silences) == 2 and min(silences) >= 0.5
    assert "the server answers again" in caplog.text


def test_unresponsive_server_is_retried_indefinitely(caplog):
    """A stopped process: the system accepts its connections, and nothing is answered."""
    with socket.create_server(("127.0.0.1", 0)) as server, motorium.connect(
        f"127.0.0.1:{server.getsockname()[1]}"
    ) as channel:
        watch = motorium.watch_task(services.OrchestratorServiceStub(channel), NAME, silence_seconds=0.2)
        listener = threading.Thread(target=lambda: list(watch), daemon=True)
        listener.start()
        # More often than a watch survives failures.
        deadline = time.monotonic() + 20
        while caplog.text.count("no response from the server") < 10 and time.monotonic() < deadline:
            listener.join(timeout=0.1)
            assert listener.is_alive()
    assert caplog.text.count("no response from the server") >= 10
