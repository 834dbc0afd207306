"""How often a schedule asks the database: most of its time is on the way there and back."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest
from tests.virtual_assets.conftest import MakeBattery


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What this very task asks the database; what runs beside it is not counted, nor what is asked once in a while:
    the caller's budget and whether their session lasts; and how far the log is, where there are standbys."""
    statements: list[str] = []
    own = asyncio.current_task

    def listen_to(name: str) -> None:
        method = getattr(asyncpg.Connection, name)

        async def noting(connection: Any, query: str, *args: Any, **options: Any) -> Any:
            task = own()
            beside = any(words in query for words in ("lease_requests", "from session s", "pg_current_wal_flush_lsn"))
            if task is not None and task.get_name() == "asking" and not beside:
                statements.append(query)
            return await method(connection, query, *args, **options)

        monkeypatch.setattr(asyncpg.Connection, name, noting)

    for name in ("execute", "fetch", "fetchrow", "fetchval", "executemany"):
        listen_to(name)
    return statements


class TestOnePeriod:
    """Begin, lock and read, write, write what it leaves behind, commit."""

    @pytest.mark.parametrize(
        ("terms", "offset", "power"),
        [({}, 9, -20), ({}, 180, 400), ({"dailyCycleLimit": 1}, 9, 10)],
        ids=["of a battery", "that leaves it unbalanced behind a busy day", "that is limited by cycles"],
    )
    async def test_takes_five_round_trips(
        self, make_battery: MakeBattery, asked: list[str], terms: dict[str, Any], offset: int, power: int
    ) -> None:
        battery = await make_battery(**terms)
        for number in range(3):  # the first on each connection asks about types
            assert (await battery.put([power + number], offset=offset)).status_code == 200
        answer = await asyncio.create_task(battery.put([power], offset=offset), name="asking")
        assert answer.json()["schedule"][0]["power"] == power
        assert len(asked) == 5, asked
