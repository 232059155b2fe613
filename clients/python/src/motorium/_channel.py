"""Channels with the limits of the services (proto/src/limits.rs)."""

from __future__ import annotations

import grpc

from motorium._target import is_loopback
from motorium._token import TokenInterceptor

_MAX_MESSAGE_WITH_IMAGES = 16 * 1024 * 1024
_KEEPALIVE_INTERVAL_MS = 30_000
_KEEPALIVE_TIMEOUT_MS = 10_000

_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_MESSAGE_WITH_IMAGES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_WITH_IMAGES),
    ("grpc.keepalive_time_ms", _KEEPALIVE_INTERVAL_MS),
    ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
]


def connect(address: str, *, credentials: grpc.ChannelCredentials | None = None, token: str | None = None) -> grpc.Channel:
    """Opens a channel to a Motorium service, such as `127.0.0.1:7700`.

    `token` is sent with every call that has no `authorization` of its own. Without it, services of this user on the same machine
    receive the token that they have created for this user, and other machines none. A call raises PermissionError if another user
    listens at the address (on Linux; other systems do not tell). Without credentials the channel is not encrypted, and
    a token for another machine is an error. A dead connection is detected within 40 seconds, even while it is idle. A proxy
    from the environment is used only for other machines.
    """
    is_local = is_loopback(address)
    options = [*_OPTIONS, ("grpc.enable_http_proxy", int(not is_local))]
    if credentials is not None:
        channel = grpc.secure_channel(address, credentials, options=options)
    elif token is None or is_local:
        channel = grpc.insecure_channel(address, options=options)
    else:
        raise ValueError(f"the token is not sent to {address} without encryption; pass credentials")
    if token is None and (credentials is not None or not is_local):
        return channel
    return grpc.intercept_channel(channel, TokenInterceptor(token, address))
