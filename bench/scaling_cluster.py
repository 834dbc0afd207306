# ruff: noqa: E501 — lines of a page
"""The part of docs/scaling.md about a distributed database, from what one request costs its nodes."""

from __future__ import annotations

import json
import math
from typing import Any

from bench.harness import RESULTS

TELEMETRY, SCHEDULE, READ = "telemetry, 20 signals", "schedule, one period", "read of a battery"
ENTRIES = "telemetry by the nodes that it is written through"
NODE_CORES = 16


def list_cluster_lines(batteries: int, changes_s: float, reads_s: float) -> list[str]:
    content = json.loads((RESULTS / "citus_costs.json").read_text(encoding="utf-8"))
    figures: dict[str, Any] = {result["name"]: result["figures"] for result in content["results"]}
    versions, entries = figures.pop("versions"), figures.pop(ENTRIES)
    return [
        "## On a distributed database (Citus)",
        "",
        f"One request after another, on Citus {versions['citus']} with PostgreSQL {versions['postgresql']}: a coordinator and {versions['workers']} workers, {versions['shards']} shards, all on one machine that others used too",
        f"(load {content['machine']['load_average'][0]:g} on {content['machine']['cores']} cores). Milliseconds of processor time, so upper bounds; `before` is the release before, measured at another hour on another machine, so compare each with the plain PostgreSQL beside it. Shards are counted by table: those of one key lie together.",
        "",
        "| Request | before: coordinator | workers | plain PostgreSQL | commands to workers | now: coordinator | workers | plain PostgreSQL | commands to workers | shards | commits in two phases |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        *(_write_row(name, one) for name, one in figures.items()),
        "",
        *_estimate(figures, entries, batteries, changes_s, reads_s),
        "",
    ]


def _write_row(name: str, one: dict[str, Any]) -> str:
    before = one["before"]
    measured = ("coordinator_ms", "workers_ms", "plain_ms", "remote_commands")
    cells = [
        f"{costs[key]:.1f}" if key.endswith("_ms") else f"{costs[key]:g}" for costs in (before, one) for key in measured
    ]
    return f"| {name} | {' | '.join(cells)} | {one['shards']:g} | {'yes' if one['prepared_transactions'] else 'no'} |"


def _estimate(
    figures: dict[str, Any], entries: dict[str, Any], batteries: int, changes_s: float, reads_s: float
) -> list[str]:
    telemetry = figures[TELEMETRY]
    most_s = NODE_CORES * 1000 / telemetry["coordinator_ms"]
    every_s = math.ceil(batteries / most_s)
    worker_cores = batteries / every_s * telemetry["workers_ms"] / 1000
    traders = changes_s * figures[SCHEDULE]["coordinator_ms"] / 1000 + reads_s * figures[READ]["coordinator_ms"] / 1000
    alone, one, two = (
        {name: ms for name, ms in entries[way].items() if name.startswith(("coordinator", "worker"))}
        for way in ("through the coordinator", "through one worker node", "two services, through two worker nodes")
    )
    nodes = math.ceil(batteries * sum(two.values()) / 1000 / NODE_CORES)
    return [
        f"**What gives first is the coordinator's processor, and telemetry takes it.** {batteries:,} batteries that send each second are {batteries:,} requests a second: {batteries * telemetry['coordinator_ms'] / 1000:,.0f} cores of one coordinator, which cannot be spread. "
        f"A coordinator of {NODE_CORES} cores takes {most_s:,.0f} a second, so each battery sends what it has measured every {every_s} s; the workers then spend {worker_cores:,.1f} cores on it, the work of {math.ceil(worker_cores / NODE_CORES)} such nodes, and further workers",
        f"add room and folding, no ingest. The traders of this page ({changes_s:,.0f} changes and {reads_s:,.0f} reads a second) take {traders:.1f} cores of the coordinator.",
        "",
        f"**A service may write telemetry through any node** (`GRIDLOOM_TELEMETRY_DATABASE_URL`): its statements need nothing that lies on the coordinator alone. Measured with services, a request through the coordinator costs it {alone['coordinator_ms']:.2f} ms and all nodes {sum(alone.values()):.2f} ms; "
        f"through a worker node the coordinator {one['coordinator_ms']:.2f} ms, all nodes {sum(one.values()):.2f} ms. By the busiest node, two services through two worker nodes take {entries['ratio_two_to_one']:g} times what one takes through one, and {entries['ratio_two_to_coordinator']:g} times what goes through the coordinator alone: a shard's work stays on its own node, whichever node a request comes in by, and is most of what is left. "
        f"A service spends more on a request than any node; counted with the services, each with a machine of its own, two take {entries['ratio_with_services']:g} times what one takes (computed from processor time: all share this machine's cores).",
        f"Then {batteries:,} requests a second are the work of {nodes} worker nodes of {NODE_CORES} cores, to which more can be added, and at most {batteries * max(one['coordinator_ms'], two['coordinator_ms']) / 1000:,.1f} cores of the coordinator. What stays with the coordinator: jobs, outbox, safe retries (telemetry with an `Idempotency-Key` goes through it), counters, advisory locks, notifications, sessions.",
    ]
