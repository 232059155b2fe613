"""Addresses of gRPC servers, with or without a scheme of gRPC names and a port."""

from __future__ import annotations

import ipaddress

_SCHEMES = ("dns:///", "dns:", "ipv4:", "ipv6:")
UNIX_SCHEMES = ("unix:", "unix-abstract:")
# gRPC's own, for addresses without a port.
_DEFAULT_PORT = 443


def host_and_port(target: str) -> tuple[str, int]:
    """Returns the host and the port of an address such as `dns:///localhost:7700`."""
    for scheme in _SCHEMES:
        target = target.removeprefix(scheme)
    is_bare_ipv6 = target.count(":") > 1 and "]" not in target
    host, separator, port = ("", "", "") if is_bare_ipv6 else target.rpartition(":")
    if not separator or "]" in port:
        host, port = target, ""
    return host.strip("[]"), int(port or _DEFAULT_PORT)


def is_loopback(target: str) -> bool:
    """Returns whether an address is of this machine."""
    if target.startswith(UNIX_SCHEMES):
        return True
    host, _ = host_and_port(target)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
