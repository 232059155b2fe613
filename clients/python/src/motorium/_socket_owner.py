"""The user who listens on a port of this machine (services/kit/src/socket_owner.rs).

Every user may listen on a port of the loopback address. Linux lists the owners of sockets; other systems are not checked. gRPC
does not show its connections, so that this is a look before a call, and not at the connection that it uses.

The kernel walks the table of all connections for each reading, some milliseconds. So each call looks at the sockets that listen,
which takes microseconds, and at the connections only if they have not been looked at for a moment.
"""

from __future__ import annotations

import ipaddress
import errno
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from motorium._target import host_and_port

_TABLES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
_ROOT = 0
# Seconds between two looks at the connections of a server.
_CONNECTIONS_INTERVAL = 1.0
# From linux/netlink.h, linux/sock_diag.h and linux/inet_diag.h.
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST_DUMP = 0x301
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_HEADER = struct.Struct("=IHHII")
_LISTENING = 1 << 10
_PORT_OFFSET, _ADDRESS_OFFSET, _UID_OFFSET = 4, 8, 64


class _Socket(NamedTuple):
    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    port: int
    user: int


class ServerCheck:
    """The check of one server, before each call to it. `target` is its address, such as `127.0.0.1:7700`."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._looked_at_connections = -_CONNECTIONS_INTERVAL

    def check(self) -> None:
        """Checks that the server is of this user or of root.

        Raises PermissionError if another user has a socket there, also if only one of the addresses of `localhost` is of another
        user.
        """
        if sys.platform != "linux":
            return
        if self._target.startswith("unix:"):
            path = self._target.removeprefix("unix:")
            # A missing socket takes no calls.
            if os.path.exists(path):
                _check_user(self._target, os.stat(path).st_uid)
            return
        if self._target.startswith("unix-abstract:"):
            raise PermissionError(
                f"the user who listens on {self._target} is not known, so the token of this user is not sent to it; pass token=…"
            )
        _, port = host_and_port(self._target)
        for user in self._users_of_port(port):
            _check_user(self._target, user)

    def _users_of_port(self, port: int) -> list[int]:
        now = time.monotonic()
        is_recent = now - self._looked_at_connections < _CONNECTIONS_INTERVAL
        sockets = _listeners(port) if is_recent else None
        if sockets is None:
            self._looked_at_connections = now
            sockets = list(_sockets())
        return [one.user for one in sockets if one.port == port and (one.address.is_loopback or one.address.is_unspecified)]


def _check_user(target: str, user: int) -> None:
    if user not in (os.geteuid(), _ROOT):
        raise PermissionError(
            f"a process of another user (uid {user}) listens on {target}, so the token of this user is not sent to it; stop that "
            "process, or pass token=… if it is a server of Motorium that you may call"
        )


def _listeners(port: int) -> list[_Socket] | None:
    """Returns the sockets that listen on a port; None where the kernel may not be asked."""
    sockets = []
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
            for family in (socket.AF_INET, socket.AF_INET6):
                sockets += _listeners_of(kernel, family, port)
    except OSError:  # for example in a sandbox without netlink
        return None
    return sockets


def _listeners_of(kernel: socket.socket, family: int, port: int) -> Iterator[_Socket]:
    request = struct.pack("=BBBxI", family, socket.IPPROTO_TCP, 0, _LISTENING) + struct.pack(">H", port) + bytes(46)
    kernel.send(_HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_DUMP, 0, 0) + request)
    while True:
        answer = kernel.recv(65536)
        while answer:
            length, kind, *_ = _HEADER.unpack_from(answer)
            if kind == _NLMSG_DONE:
                return
            if kind == _NLMSG_ERROR:
                raise OSError(errno.EOPNOTSUPP, "the kernel does not list sockets")
            message, answer = answer[_HEADER.size : length], answer[(length + 3) & ~3 :]
            (listens_on,) = struct.unpack_from(">H", message, _PORT_OFFSET)
            (user,) = struct.unpack_from("=I", message, _UID_OFFSET)
            size = 4 if family == socket.AF_INET else 16
            yield _Socket(_plain(ipaddress.ip_address(message[_ADDRESS_OFFSET:][:size])), listens_on, user)


def _sockets() -> Iterator[_Socket]:
    """Lists the sockets with an owner. Connections that are not accepted yet, or that have ended, have none."""
    for table in _TABLES:
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except FileNotFoundError:  # without IPv6
            continue
        for line in lines:
            columns = line.split()
            if columns[9] != "0":
                address, port = columns[1].split(":")
                yield _Socket(_address(address), int(port, 16), int(columns[7]))


def _address(digits: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Parses an address, which consists of words in the byte order of the machine."""
    words = [int(digits[start : start + 8], 16) for start in range(0, len(digits), 8)]
    packed = b"".join(word.to_bytes(4, sys.byteorder) for word in words)
    return _plain(ipaddress.ip_address(packed))


def _plain(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Returns the IPv4 address that an IPv6 address stands for, if it does."""
    return getattr(address, "ipv4_mapped", None) or address
