"""Ten thousand times: write, then read at once from where a standby lags, and see whether the write is there."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
import urllib.parse
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import asyncpg

from bench.harness import PASSWORD, USERNAME, Client, Harness
from bench.local_cluster import Cluster, cluster

PAIRS = 10_000
CALLERS = 4
LAGS = {"none": "0", "20 ms, for which a read waits": "20ms", "1 s, for which the primary answers": "1s"}
"""How long the standby holds back what it has received (`recovery_min_apply_delay`)."""


def run(harness: Harness) -> None:
    with cluster() as made:
        address, _ = made.start_service(1, reads_from_standby=True)
        path = make_battery(address)
        pairs = (60 if harness.options.quick else PAIRS) // len(LAGS) + 1
        for name, lag in LAGS.items():
            _set_lag(made, lag)
            before = _count_looks(made)
            hidden = _count_hidden(address, path, pairs)
            figures = {"pairs": pairs, "hidden": hidden, "read_from_standby": _count_looks(made) - before}
            harness.report(f"own writes, lag {name}", figures, target="0 hidden", met=hidden == 0)


def make_battery(address: str) -> str:
    """The path of a new battery's logbook."""
    operator = Client(address).sign_in(USERNAME, PASSWORD)
    parameters = {
        "ratedChargePower": 1000,
        "ratedDischargePower": 1000,
        "energyCapacity": 2000,
        "chargeEfficiency": 0.9,
        "dischargeEfficiency": 0.9,
    }
    own = operator.get("/auth/me")["organisationID"]
    body = {"name": "B", "organisationID": own, "deliveryZone": "TenneT", "parameters": parameters}
    return f"/physical-assets/{operator.post('/physical-assets', body)['id']}/logbook"


def write_entry(title: str) -> dict[str, str]:
    return {"title": title, "type": "note", "start": datetime(2026, 1, 1, tzinfo=UTC).isoformat()}


def _count_hidden(address: str, path: str, pairs: int) -> int:
    with ThreadPoolExecutor(CALLERS) as pool:
        shares = [len(range(number, pairs, CALLERS)) for number in range(CALLERS)]
        return sum(pool.map(lambda share: _write_and_read(address, path, share), shares))


def _write_and_read(address: str, path: str, pairs: int) -> int:
    """Every other read hands the position along that its write was given."""
    token = Client(address).sign_in(USERNAME, PASSWORD).token
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc, timeout=60)
    hidden = 0
    begun = time.monotonic()
    for number in range(pairs):
        if time.monotonic() - begun > 300:  # before the token is over
            token, begun = Client(address).sign_in(USERNAME, PASSWORD).token, time.monotonic()
        sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        title = uuid.uuid4().hex
        position, _ = _call(connection, "POST", path, sent, json.dumps(write_entry(title)).encode())
        if number % 2:
            sent["Gridloom-Position"] = position
        _, found = _call(connection, "GET", f"{path}?text={title}", sent)
        hidden += not found
    connection.close()
    return hidden


def _call(
    connection: http.client.HTTPConnection, method: str, path: str, headers: dict[str, str], body: bytes | None = None
) -> tuple[str, Any]:
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 400:
        raise RuntimeError(f"{method} {path}: {answer.status} {text.decode(errors='replace')[:500]}")
    return answer.headers.get("Gridloom-Position", ""), json.loads(text)


def _set_lag(made: Cluster, lag: str) -> None:
    asyncio.run(_ask_standby(made, f"alter system set recovery_min_apply_delay = '{lag}'"))
    asyncio.run(_ask_standby(made, "select pg_reload_conf()"))


def _count_looks(made: Cluster) -> int:
    """How often the standby was asked for the logbook; sessions report what they did once a second."""
    time.sleep(1.5)
    return int(
        asyncio.run(
            _ask_standby(
                made,
                "select coalesce(seq_scan, 0) + coalesce(idx_scan, 0) from pg_stat_user_tables"
                " where relname = 'logbook_entry'",
            )
        )
    )


async def _ask_standby(made: Cluster, question: str) -> Any:
    connection = await asyncpg.connect(made.standby.dsn)
    try:
        return await connection.fetchval(question)
    finally:
        await connection.close()
