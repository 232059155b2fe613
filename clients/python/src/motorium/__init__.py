"""Client for Motorium.

The stubs are generated from the contracts and carry their names:

    from motorium.orchestrator.v1 import orchestrator_service_pb2, orchestrator_service_pb2_grpc

Written by hand are only `connect`, which opens a channel with the limits that the services use, and `watch_task`, which
follows a task through broken connections.
"""

from motorium._channel import connect
from motorium._watch import watch_task

__all__ = ["connect", "watch_task"]
