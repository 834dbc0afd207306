"""Two services on one database, each in processes of its own: a window is filled once, though one dies at it."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from tests.database_server import migrated_database
from tests.feeds.stand_in import Canned, StandIn, day_of, midnight, quarters, value
from tests.journeys.service import Service, a_service, wait_until

pytestmark = pytest.mark.slow

DAYS = 35
"""More than a month: two parts of each topic."""
HELD_CALL = 20
"""Within the second part."""


def read_run(service: Service, token: str, id: str) -> Any:
    status, runs = service.call("GET", "/feeds/smard/runs", token=token)
    assert status == 200, runs
    return next(run for run in runs if run["id"] == id)


def is_calling(service: Service, port: int) -> bool:
    """Whether one of its processes has the connection with this port at its end."""
    return any(one.laddr.port == port for process in service.tree() for one in process.net_connections("tcp"))


async def test_a_window_is_filled_once_though_the_process_that_fills_it_is_killed(stand_in: StandIn) -> None:
    last = day_of(datetime.now(UTC)) - timedelta(days=2)
    days = [last - timedelta(days=number) for number in range(DAYS)]
    window = {"start": midnight(days[-1]).isoformat(), "end": midnight(last + timedelta(days=1)).isoformat()}
    is_held, may_go_on = threading.Event(), threading.Event()

    def hold(_: str) -> Canned | None:
        if len(stand_in.calls) == HELD_CALL:
            is_held.set()
            may_go_on.wait(20)
        return None

    stand_in.faults["smard"] = hold
    async with migrated_database() as url:
        environment = {
            "GRIDLOOM_DATABASE_URL": url,
            "GRIDLOOM_FEED_SMARD_URL": stand_in.url,
            "GRIDLOOM_WORKERS": "1",
        }
        with ExitStack() as stack:
            first, second = (stack.enter_context(a_service(**environment)) for _ in range(2))
            first.start()
            second.start()
            token = first.operator_token()
            status, run = first.call("POST", "/feeds/smard/runs", window, token)
            assert status == 202, run
            assert is_held.wait(60)
            killed, other = (first, second) if is_calling(first, stand_in.caller_port) else (second, first)
            before = read_run(other, token, run["id"])
            assert (before["status"], 0 < before["progress"] < 1) == ("RUNNING", True), before
            assert is_calling(killed, stand_in.caller_port)
            killed.kill_everything()
            may_go_on.set()
            wait_until(lambda: read_run(other, token, run["id"])["status"] in ("DONE", "FAILED"))
            done = read_run(other, token, run["id"])
        stored = await read_prices(url)
    starts = sorted(start for day in days for start in quarters(day))
    assert (done["status"], done["progress"], done["fault"]) == ("DONE", 1, None)
    assert (done["rowsNew"], done["rowsChanged"]) == (4 * len(starts), 0)
    assert set(stored) == {"DAY_AHEAD_DE_LU", "LOAD_FORECAST_DE", "WIND_FORECAST_DE", "SOLAR_FORECAST_DE"}
    assert all([start for start, _ in rows] == starts for rows in stored.values())
    assert stored["DAY_AHEAD_DE_LU"] == [(start, value("DAY_AHEAD", start)) for start in starts]


async def read_prices(url: str) -> dict[str, list[tuple[datetime, float]]]:
    """Each version that is stored, by its series and time."""
    connection = await asyncpg.connect(url)
    found: dict[str, list[tuple[datetime, float]]] = {}
    try:
        for table in ("reference_price", "reference_price_superseded"):
            for row in await connection.fetch(f"select series, start_at, price from {table} order by start_at"):
                found.setdefault(row["series"], []).append((row["start_at"], float(row["price"])))
    finally:
        await connection.close()
    return found
