"""When the simulated parties do what recurs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.stand_ins import replace_for

from gridloom.sandbox.simulator import main_loop, timetable
from gridloom.sandbox.simulator.credentials import (
    SimulatorCredentials,
    read_credentials,
    write_credentials,
)
from gridloom.sandbox.simulator.main_loop import last_idle_step, run_forever
from gridloom.sandbox.simulator.state import SimulatedOutage, SimulatorState
from gridloom_client import TransportError

pytestmark = pytest.mark.pure


class TestWhatTheClockHasPassed:
    def test_is_made_up_for_where_the_market_publishes_or_settles_and_nobody_decides_late(self) -> None:
        late = {
            time: [item in timetable.CATCH_UP_ACTIONS for group in groups for item in group]
            for time, groups in timetable.TIMETABLE.items()
        }
        assert late == {
            (0, 0): [True, True, False],
            (4, 0): [True],
            (7, 30): [False, False],
            (8, 0): [True, True, True, False],
            (8, 15): [True, True, False],
            (9, 45): [True, True, False, False],
            (10, 30): [True, True, False],
            (11, 30): [False, False],
            (12, 0): [True],
            (12, 45): [True, True, True, False, False],
            (15, 30): [False, True, True, False],
            (16, 0): [True, False, False, True],
            (20, 0): [True, False],
            (22, 30): [True, True, False],
        }


class TestTimeThatHurries:
    MIDNIGHT = datetime(2026, 6, 17, 22, tzinfo=UTC)

    def last_idle(
        self, *, until_h: float = 12, metered_h: float = 0, outage_h: float = 99, announced: bool = False
    ) -> float:
        """Hours after midnight, after which the next of the parties acts at 4 o'clock."""

        def at(hours: float) -> datetime:
            return self.MIDNIGHT + timedelta(hours=hours)

        outage = SimulatedOutage("", at(outage_h), at(outage_h + 1), 0.5, planned=False, announced=announced)
        memory = SimulatorState(world=1, seeds={}, metered_until=at(metered_h), outages=[outage])
        return (last_idle_step(memory, at(0), at(until_h)) - self.MIDNIGHT) / timedelta(hours=1)

    def test_stops_before_the_next_quarter_hour_in_which_something_happens(self) -> None:
        assert self.last_idle() == 3.75
        assert self.last_idle(until_h=2.5) == 2.5
        assert self.last_idle(outage_h=2) == 1.75
        assert self.last_idle(outage_h=2, announced=True) == 3.75
        assert self.last_idle(metered_h=-11) == 0.75, "the meters are read every twelve hours"


class TestAServiceThatIsAway:
    async def test_is_asked_again_after_longer_and_longer_but_never_after_minutes(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pauses: list[float] = []

        async def sleep(pause_s: float) -> None:
            pauses.append(pause_s)
            if len(pauses) == 8:
                raise KeyboardInterrupt

        def connect(*_: str) -> Any:
            raise TransportError("away", is_sent=False)

        replace_for(monkeypatch, main_loop, "asyncio", sleep=sleep)
        with pytest.raises(KeyboardInterrupt):
            await run_forever(connect, SimulatorCredentials("s"))
        assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]


class TestTheFileOfCredentials:
    def test_is_read_by_its_owner_alone_and_as_it_was_written(self, tmp_path: Path) -> None:
        written = SimulatorCredentials("s", invitation="i")
        write_credentials(tmp_path / "home", written)
        assert read_credentials(tmp_path / "home") == written
        assert {file.stat().st_mode & 0o777 for file in (tmp_path / "home").iterdir()} == {0o600}
        assert read_credentials(tmp_path) is None
