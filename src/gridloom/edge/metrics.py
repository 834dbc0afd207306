"""What Prometheus can ask of every request."""

from __future__ import annotations

import os

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Histogram, generate_latest, multiprocess

from gridloom.edge.operation import Operation

REQUESTS = Histogram(
    "gridloom_request_seconds",
    "Time to answer a request",
    ["operation", "status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)

_children: dict[tuple[str, int], Histogram] = {}


def observe_request(operation: Operation | None, status: int, seconds: float) -> None:
    name = operation.operation_id if operation is not None else "none"
    child = _children.get((name, status))
    if child is None:
        child = _children[name, status] = REQUESTS.labels(name, str(status))
    child.observe(seconds)


def exposition() -> tuple[bytes, str]:
    """All workers' figures in Prometheus's text format, and its media type."""
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry), CONTENT_TYPE_LATEST
    return generate_latest(REGISTRY), CONTENT_TYPE_LATEST
