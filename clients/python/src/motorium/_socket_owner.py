"""The user who listens on a port of this machine (services/kit/src/socket_owner.rs).

Every user may listen on a port of the loopback address. Linux lists the owners of sockets; other systems are not checked. gRPC
does not show its connections, so that this is a look before a call, and not at the connection that it uses.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from motorium._target import host_and_port

_TABLES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
_ROOT = 0


class _Socket(NamedTuple):
    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    port: int
    user: int


def check_server(target: str) -> None:
    """Checks that the server at an address of this machine, such as `127.0.0.1:7700`, is of this user or of root.

    Raises PermissionError if another user has a socket there, also if only one of the addresses of `localhost` is of another
    user.
    """
    if sys.platform != "linux":
        return
    if target.startswith("unix:"):
        path = target.removeprefix("unix:")
        # A missing socket takes no calls.
        if os.path.exists(path):
            _check_user(target, os.stat(path).st_uid)
        return
    if target.startswith("unix-abstract:"):
        raise PermissionError(f"the user who listens on {target} is not known, so the token of this user is not sent to it; pass token=…")
    _, port = host_and_port(target)
    for one in _sockets():
        if one.port == port and (one.address.is_loopback or one.address.is_unspecified):
            _check_user(target, one.user)


def _check_user(target: str, user: int) -> None:
    if user not in (os.geteuid(), _ROOT):
        raise PermissionError(
            f"a process of another user (uid {user}) listens on {target}, so the token of this user is not sent to it; stop that "
            "process, or pass token=… if it is a server of Motorium that you may call"
        )


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
    address = ipaddress.ip_address(packed)
    return getattr(address, "ipv4_mapped", None) or address
