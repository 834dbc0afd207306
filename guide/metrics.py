"""Writes docs/metrics.md: every metric of the service, from the registry. `python guide/metrics.py`."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import REGISTRY
from prometheus_client.metrics import MetricWrapperBase

from gridloom.app import create_edge
from gridloom.settings import Settings

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"

HEAD = """# Metrics

`GET /metrics` with `GRIDLOOM_METRICS_TOKEN` as a Bearer token, or every path of `GRIDLOOM_METRICS_PORT`, answers in
Prometheus' text format, summed over the workers of a replica. `deploy/prometheus` has alert rules and a dashboard that
use them. A histogram has the series `…_bucket`, `…_sum` and `…_count`. The label `operation` is an `operationId` of the
interface.

| Metric | Kind | Labels | Meaning |
|---|---|---|---|
"""


def describe_metrics() -> str:
    create_edge(Settings())
    found = {one._name: one for one in REGISTRY._collector_to_names if isinstance(one, MetricWrapperBase)}
    rows = [
        f"| `{name}{'_total' if one._type == 'counter' else ''}` | {one._type} | "
        f"{', '.join(f'`{label}`' for label in one._labelnames)} | {one._documentation}. |\n"
        for name, one in sorted(found.items())
        if name.startswith("gridloom_")
    ]
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(describe_metrics())
