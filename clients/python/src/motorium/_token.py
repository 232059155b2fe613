"""The token that the servers of this user on this machine demand (services/kit/src/loopback_token.rs)."""

from __future__ import annotations

import os
import stat
from collections import namedtuple
from pathlib import Path

import grpc

from motorium._socket_owner import ServerCheck

_MAX_BYTES = 4096


def find_token() -> str | None:
    """Returns the token, or None if no server of this user has created one yet.

    Raises PermissionError if other users could have read or written it.
    """
    for folder in _folders():
        try:
            _check(folder, folder.lstat(), stat.S_ISDIR, 0o022)
            path = folder / "token"
            with path.open(encoding="ascii") as file:
                _check(path, os.fstat(file.fileno()), stat.S_ISREG, 0o077)
                return file.read(_MAX_BYTES).strip()
        except FileNotFoundError:
            continue
    return None


def _folders() -> list[Path]:
    """Returns the folders that may have the token, the preferred one first."""

    def absolute(name: str) -> list[Path]:
        return [path for path in [Path(os.environ.get(name) or ".")] if path.is_absolute()]

    runtime = [folder for folder in absolute("XDG_RUNTIME_DIR") if folder.is_dir()]
    state = absolute("XDG_STATE_HOME") or [home / ".local/state" for home in absolute("HOME")]
    return [folder / "motorium" for folder in runtime + state]


def _check(path: Path, status: os.stat_result, is_kind, forbidden: int) -> None:
    """Refuses what other users could have placed there. Elsewhere than on Unix, the folders of a user are private."""
    if os.name != "posix":
        return
    if not is_kind(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & forbidden:
        raise PermissionError(
            f"the token in {path} is not used, because it is not private to this user; remove {path} and start the servers again"
        )


class _CallDetails(
    namedtuple("_CallDetails", ("method", "timeout", "metadata", "credentials", "wait_for_ready", "compression")),
    grpc.ClientCallDetails,
):
    """The properties of a call, with the token among its metadata."""


class TokenInterceptor(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Adds a token to calls that have no `authorization` of their own.

    Without a given token, that of the user is read for each call: the server may start, and create it, after the channel. It is
    sent only to a server of this user. `target` is the address of the server.
    """

    def __init__(self, token: str | None, target: str) -> None:
        self._token = token
        self._server = ServerCheck(target)

    def _authorized(self, details: grpc.ClientCallDetails) -> grpc.ClientCallDetails:
        metadata = list(details.metadata or ())
        if any(key == "authorization" for key, _ in metadata):
            return details
        token = self._token or self._token_of_user()
        if token is None:
            return details
        metadata.append(("authorization", f"Bearer {token}"))
        return _CallDetails(
            details.method,
            details.timeout,
            metadata,
            details.credentials,
            getattr(details, "wait_for_ready", None),
            getattr(details, "compression", None),
        )

    def _token_of_user(self) -> str | None:
        token = find_token()
        if token is not None:
            self._server.check()
        return token

    def intercept_unary_unary(self, continuation, client_call_details, request):
        return continuation(self._authorized(client_call_details), request)

    def intercept_unary_stream(self, continuation, client_call_details, request):
        return continuation(self._authorized(client_call_details), request)

    def intercept_stream_unary(self, continuation, client_call_details, request_iterator):
        return continuation(self._authorized(client_call_details), request_iterator)

    def intercept_stream_stream(self, continuation, client_call_details, request_iterator):
        return continuation(self._authorized(client_call_details), request_iterator)
