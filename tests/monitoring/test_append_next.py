"""Points that are newer than all that is known are appended by one statement, where this process is the only writer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any

import pytest
from tests.monitoring.calls import DAY, read, write

from gridloom.monitoring.ingest import ingest
from gridloom.monitoring.ingest.entry import TelemetryEntry, open_entry
from gridloom.monitoring.store import heads
from gridloom.monitoring.store.heads import HeadCache, SignalIdCache
from gridloom.platform.database.pool import Pool
from gridloom.settings import Settings


def at(minute: int, **values: float) -> dict[str, Any]:
    time = f"2026-03-29T10:{minute:02}:00Z"
    return {signal: {"time": [time], "value": [value]} for signal, value in values.items()}


@pytest.fixture
def pool(app: Any) -> Pool:
    found: Pool = app.pool
    return found


@pytest.fixture(params=["plain", "by parts", "through another node"])
async def way(request: Any, app: Any, settings: Settings, by_parts: Any) -> AsyncIterator[None]:
    """The ways in which points reach the database; the last two are those of a distributed one."""
    if request.param == "through another node":
        opened = await open_entry(app.pool, settings.database_url, 2)
        app.resources[TelemetryEntry].pool = opened.pool
    with by_parts() if request.param == "by parts" else nullcontext():
        yield
    if request.param == "through another node":
        app.resources[TelemetryEntry].pool = None
        await opened.pool.close()  # type: ignore[union-attr]


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The assets whose head was locked, which an append by one statement does not do."""
    seen: list[int] = []
    lock = heads.lock_heads

    async def note(db: Any, asset_keys: Any) -> Any:
        seen.extend(asset_keys)
        return await lock(db, asset_keys)

    monkeypatch.setattr(heads, "lock_heads", note)
    return seen


async def read_head(pool: Pool, asset: str) -> Any:
    return await pool.fetchrow(
        "select h.* from telemetry_head h join asset a on a.key = h.asset_key where a.id = $1::text::uuid", asset
    )


async def read_values(owner: Any, asset: str) -> dict[str, list[float]]:
    found = (await read(owner, asset, start=DAY[0], end=DAY[1]))["data"]
    return {signal: [point["value"] for point in points] for signal, points in found.items()}


@pytest.mark.usefixtures("way")
class TestNewerPoints:
    async def test_are_appended_under_the_lock_where_another_process_has_written(
        self, owner: Any, asset: str, pool: Pool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for minute in range(4):
            await write(owner, asset, at(minute, power=minute, frequency=50))
        with monkeypatch.context() as other:
            other.setattr(ingest, "_head_cache", HeadCache())
            await write(owner, asset, at(10, frequency=51))
        await write(owner, asset, at(11, power=11))
        assert (await read_head(pool, asset))["sequence"] == 6
        assert await read_values(owner, asset) == {"power": [0, 1, 2, 3, 11], "frequency": [50, 50, 50, 50, 51]}
        latest = (await owner.viewer.get(f"/monitoring/{asset}/datapoints/latest")).json()["data"]
        assert [latest[signal]["value"] for signal in ("power", "frequency")] == [11, 51]

    async def test_leave_what_stands_under_the_same_sequence_after_a_promotion(
        self, owner: Any, asset: str, pool: Pool
    ) -> None:
        for minute in range(4):
            await write(owner, asset, at(minute, power=minute, frequency=50))
        head = await read_head(pool, asset)
        other = bytearray(head["latest"])
        other[-8:] = b"\0" * 8  # another value of the last signal
        await pool.execute(
            "update telemetry_head set latest = $2 where asset_key = $1", head["asset_key"], bytes(other)
        )
        await write(owner, asset, at(5, power=5))
        latest = (await owner.viewer.get(f"/monitoring/{asset}/datapoints/latest")).json()["data"]
        assert {signal: point["value"] for signal, point in latest.items()} == {"power": 5, "frequency": 0}

    async def test_are_told_from_those_that_overwrite_or_name_new_signals(
        self, owner: Any, asset: str, locked: list[int]
    ) -> None:
        for minute in range(4):
            await write(owner, asset, at(minute, power=minute))
        assert (await write(owner, asset, at(3, power=33)))["overwritten"] == 1
        assert (await write(owner, asset, at(2, power=22)))["overwritten"] == 1
        assert (await write(owner, asset, at(4, voltage=1)))["written"] == 1
        twice = {"power": {"time": ["2026-03-29T10:09:00Z"] * 2, "value": [8, 9]}}
        answer = await write(owner, asset, twice)
        assert (answer["written"], answer["overwritten"]) == (1, 1)
        assert await read_values(owner, asset) == {"power": [0, 1, 22, 33, 9], "voltage": [1]}


class TestSignalsThatAnotherProcessAdded:
    async def test_are_known_to_this_one_before_it_adds_more(
        self, owner: Any, asset: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await write(owner, asset, at(0, power=0))
        with monkeypatch.context() as other:
            other.setattr(ingest, "_head_cache", HeadCache())
            other.setattr(ingest, "_id_cache", SignalIdCache())
            await write(owner, asset, at(1, frequency=50))
        await write(owner, asset, at(2, voltage=400))
        assert await read_values(owner, asset) == {"power": [0], "frequency": [50], "voltage": [400]}
