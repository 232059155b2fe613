"""Watches of tasks and sessions that survive broken connections."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import grpc

from motorium.orchestrator.v1 import orchestrator_service_pb2 as messages
from motorium.orchestrator.v1 import task_pb2

if TYPE_CHECKING:
    from motorium.orchestrator.v1.orchestrator_service_pb2_grpc import OrchestratorServiceStub

# Number of consecutive failed attempts after which the watch fails.
_MAX_ATTEMPTS = 8
# Backoff before the first retry, doubled each time, with jitter.
_MIN_PAUSE_SECONDS = 0.1
_MAX_PAUSE_SECONDS = 5.0

# Default time without a message after which a server counts as silent: of its heartbeats, one every 15 s, two are missing and
# the third is late.
_SILENCE_SECONDS = 35.0

_LOG = logging.getLogger("motorium")

_Message = TypeVar("_Message")

# Codes that a new connection may resolve. Proxies and connections that reach their maximum age cause them.
_MENDABLE = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.ABORTED,
}
_ENDED = {task_pb2.Task.STATE_SUCCEEDED, task_pb2.Task.STATE_FAILED, task_pb2.Task.STATE_CANCELLED}


def _warn_of_silence(seconds: float) -> None:
    _LOG.warning("no response from the server for %.0f s; trying again until it answers", seconds)


class _Silence(Exception):
    """The server sends nothing. It was reported; the watch goes on."""


class _Listener:
    """Receives the messages of calls, and ends a call whose server sends nothing, not even a heartbeat."""

    def __init__(self, silence_seconds: float, on_silence: Callable[[float], None]) -> None:
        self.silence_seconds = silence_seconds
        self._on_silence = on_silence
        self._is_silent = False
        self._last_message_at = time.monotonic()

    def messages(self, call: grpc.Call) -> Iterator[_Message]:
        """Yields the messages of a call. Reports a server that sends nothing, and raises `_Silence`."""
        waiting_since: list[float] = []
        was_ended = threading.Event()
        is_over = threading.Event()

        def watch() -> None:
            # Time in which the caller handles a message does not count.
            while not is_over.wait(self.silence_seconds / 10):
                # A copy: the list is emptied by the other thread.
                since = waiting_since[:]
                if since and time.monotonic() - since[0] >= self.silence_seconds:
                    was_ended.set()
                    call.cancel()
                    return

        if not self._is_silent:
            self._last_message_at = time.monotonic()
        threading.Thread(target=watch, daemon=True).start()
        received = iter(call)
        try:
            while True:
                waiting_since[:] = [time.monotonic()]
                try:
                    message = next(received)
                except StopIteration:
                    return
                finally:
                    waiting_since.clear()
                self._on_message()
                yield message
        except grpc.RpcError:
            if not was_ended.is_set():
                raise
            self._is_silent = True
            self._on_silence(time.monotonic() - self._last_message_at)
            raise _Silence from None
        finally:
            is_over.set()

    def _on_message(self) -> None:
        self._last_message_at = time.monotonic()
        if self._is_silent:
            self._is_silent = False
            _LOG.warning("the server answers again")


def watch_task(
    stub: OrchestratorServiceStub,
    name: str,
    *,
    resume_token: str = "",
    silence_seconds: float = _SILENCE_SECONDS,
    on_silence: Callable[[float], None] = _warn_of_silence,
) -> Iterator[messages.WatchTaskResponse]:
    """Yields the events of the task `tasks/{task}` until it has ended.

    Without a token, the first message is a snapshot of the task. All others are events, each with the token to resume a
    watch after it. A broken connection is re-established without losing or repeating an event. Heartbeats are filtered
    out. A server that sends nothing for `silence_seconds` is reported to `on_silence`, which gets the time since its last
    message and by default logs a warning; the watch goes on trying.

    Raises `grpc.RpcError` if reconnecting cannot resolve the error (there is no such task, the token has expired), or
    after eight consecutive failed attempts.
    """
    has_ended = False
    failures = 0
    listener = _Listener(silence_seconds, on_silence)
    while True:
        received_event = False
        call = stub.WatchTask(messages.WatchTaskRequest(name=name, resume_token=resume_token))
        try:
            for message in listener.messages(call):
                failures = 0
                resume_token = message.resume_token or resume_token
                if message.WhichOneof("content") == "heartbeat":
                    continue
                received_event |= message.HasField("event")
                yield message
                if message.event.state in _ENDED:
                    return
            # The server occasionally ends long watches. If the task had ended before this watch started and the watch
            # delivered nothing, the task's last event is before the token.
            if has_ended and not received_event:
                return
            request = messages.GetTaskRequest(name=name)
            has_ended = stub.GetTask(request, timeout=silence_seconds).task.state in _ENDED
        except grpc.RpcError as error:
            failures += 1
            if error.code() not in _MENDABLE or failures >= _MAX_ATTEMPTS:
                raise
            _pause(failures)
        except _Silence:
            failures = 0
        finally:
            call.cancel()


def watch_session(
    stub: OrchestratorServiceStub,
    name: str,
    *,
    resume_token: str = "",
    silence_seconds: float = _SILENCE_SECONDS,
    on_silence: Callable[[float], None] = _warn_of_silence,
) -> Iterator[messages.WatchSessionResponse]:
    """Yields the events of all tasks of the session `sessions/{session}`, also of tasks that are created later.

    Without a token, the first message is a snapshot of the session. All others are events, each with the token to resume
    a watch after it. Connections are re-established, and silence is reported, as in `watch_task`. The iterator does not end
    with the tasks.

    Raises `grpc.RpcError` if reconnecting cannot resolve the error, or after eight consecutive failed attempts.
    """
    failures = 0
    listener = _Listener(silence_seconds, on_silence)
    while True:
        call = stub.WatchSession(messages.WatchSessionRequest(name=name, resume_token=resume_token))
        try:
            for message in listener.messages(call):
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
        except _Silence:
            failures = 0
        finally:
            call.cancel()


def _pause(failures: int) -> None:
    max_pause = min(_MIN_PAUSE_SECONDS * 2 ** (failures - 1), _MAX_PAUSE_SECONDS)
    time.sleep(max_pause * random.uniform(0.5, 1.0))
