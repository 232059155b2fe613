"""Client for Motorium.

The stubs are generated from the contract and have its names:

    from motorium.orchestrator.v1 import orchestrator_service_pb2, orchestrator_service_pb2_grpc

The package adds `connect`, which opens a channel with the limits of the services, and `watch_task`, which watches a task
across broken connections.
"""

from motorium._channel import connect
from motorium._watch import watch_task

__all__ = ["connect", "watch_task"]
