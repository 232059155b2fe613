"""Watches of tasks and sessions that survive broken connections."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import grpc

from motorium.orchestrator.v1 import orchestrator_service_pb2 as messages
from motorium.orchestrator.v1 import task_pb2

if TYPE_CHECKING:
    from motorium.orchestrator.v1.orchestrator_service_pb2_grpc import OrchestratorServiceStub

# Number of consecutive failed attempts after which the watch fails.
_MAX_ATTEMPTS = 8
# Backoff before the first retry, doubled each time, with jitter.
_FIRST_PAUSE_SECONDS = 0.1
_MAX_PAUSE_SECONDS = 5.0

# Codes that a new connection may resolve. Proxies and connections that reach their maximum age cause them.
_MENDABLE = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.ABORTED,
}
_ENDED = {task_pb2.Task.STATE_SUCCEEDED, task_pb2.Task.STATE_FAILED, task_pb2.Task.STATE_CANCELLED}


def watch_task(
    stub: OrchestratorServiceStub, name: str, *, resume_token: str = ""
) -> Iterator[messages.WatchTaskResponse]:
    """Yields the events of the task `tasks/{task}` until it has ended.

    Without a token, the first message is a snapshot of the task. All others are events, each with the token to resume a
    watch after it. A broken connection is re-established without losing or repeating an event. Heartbeats are filtered
    out.

    Raises `grpc.RpcError` if reconnecting cannot resolve the error (there is no such task, the token has expired), or
    after eight consecutive failed attempts.
    """
    has_ended = False
    failures = 0
    while True:
        heard_an_event = False
        call = stub.WatchTask(messages.WatchTaskRequest(name=name, resume_token=resume_token))
        try:
            for message in call:
                failures = 0
                resume_token = message.resume_token or resume_token
                if message.WhichOneof("content") == "heartbeat":
                    continue
                heard_an_event |= message.HasField("event")
                yield message
                if message.event.state in _ENDED:
                    return
            # The server occasionally ends long watches. If the task had ended before this watch started and the watch
            # delivered nothing, the task's last event is before the token.
            if has_ended and not heard_an_event:
                return
            has_ended = stub.GetTask(messages.GetTaskRequest(name=name)).task.state in _ENDED
        except grpc.RpcError as error:
            failures += 1
            if error.code() not in _MENDABLE or failures >= _MAX_ATTEMPTS:
                raise
            _pause(failures)
        finally:
            call.cancel()


def watch_session(
    stub: OrchestratorServiceStub, name: str, *, resume_token: str = ""
) -> Iterator[messages.WatchSessionResponse]:
    """Yields the events of all tasks of the session `sessions/{session}`, also of tasks that are created later.

    Without a token, the first message is a snapshot of the session. All others are events, each with the token to resume
    a watch after it. Connections are re-established as in `watch_task`. The iterator does not end with the tasks.

    Raises `grpc.RpcError` if reconnecting cannot resolve the error, or after eight consecutive failed attempts.
    """
    failures = 0
    while True:
        call = stub.WatchSession(messages.WatchSessionRequest(name=name, resume_token=resume_token))
        try:
            for message in call:
                failures = 0
                resume_token = message.resume_token or resume_token
                if message.WhichOneof("content") != "heartbeat":
                    yield message
            # A session does not end, so the server shuts down and ends every new watch at once.
            _pause(1)
        except grpc.RpcError as error:
            failures += 1
            if error.code() not in _MENDABLE or failures >= _MAX_ATTEMPTS:
                raise
            _pause(failures)
        finally:
            call.cancel()


def _pause(failures: int) -> None:
    longest = min(_FIRST_PAUSE_SECONDS * 2 ** (failures - 1), _MAX_PAUSE_SECONDS)
    time.sleep(longest * random.uniform(0.5, 1.0))
