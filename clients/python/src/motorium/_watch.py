"""Watches a task through broken connections."""

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

# Attempts in a row that may fail before the watch does.
_MAX_ATTEMPTS = 8
# Pause before the first new attempt, doubled each time, with jitter.
_FIRST_PAUSE_SECONDS = 0.1
_MAX_PAUSE_SECONDS = 5.0

# A new connection may mend these. A proxy, or a connection that reached its age, shows as one of them.
_MENDABLE = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.ABORTED,
}
_LAST_EVENTS = {"succeeded", "failed", "cancelled"}
_ENDED = {task_pb2.Task.STATE_SUCCEEDED, task_pb2.Task.STATE_FAILED, task_pb2.Task.STATE_CANCELLED}


def watch_task(
    stub: OrchestratorServiceStub, name: str, *, resume_token: str = ""
) -> Iterator[messages.WatchTaskResponse]:
    """Yields what happens to the task `tasks/{task}`, until it has ended.

    Without a token the first message is a snapshot of the task; all others are events, each with the token that a later
    watch continues after. A connection that breaks is made again, and nothing is lost or comes twice. Heartbeats are
    kept back.

    Raises `grpc.RpcError` when a new connection does not help (there is no such task, the token has expired), or when
    eight attempts in a row have failed.
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
                if message.event.WhichOneof("kind") in _LAST_EVENTS:
                    return
            # The server ends a long watch now and then. If the task had ended before this watch began and the watch
            # had nothing to tell, then its last event lies before the token.
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


def _pause(failures: int) -> None:
    longest = min(_FIRST_PAUSE_SECONDS * 2 ** (failures - 1), _MAX_PAUSE_SECONDS)
    time.sleep(longest * random.uniform(0.5, 1.0))
