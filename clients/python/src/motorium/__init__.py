"""Client for Motorium.

The stubs are generated from the contract and have its names:

    from motorium.orchestrator.v1 import orchestrator_service_pb2, orchestrator_service_pb2_grpc

The package adds `connect`, which opens a channel with the limits of the services, and `watch_task` and
`watch_session`, which watch a task or all tasks of a session across broken connections.
"""

from motorium._channel import connect
from motorium._watch import watch_session, watch_task

__all__ = ["connect", "watch_session", "watch_task"]
