"""What the simulator knows from one quarter-hour to the next: its seeds, and what it forgets of the past."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from gridloom.sandbox.simulator.state import OpenAuction, SimulatedHolding, SimulatedOutage, SimulatorState

pytestmark = pytest.mark.pure

DAY = date(2026, 6, 18)
NOW = datetime(2026, 6, 20, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
BEFORE, AFTER = DAY - timedelta(days=1), DAY + timedelta(days=1)


class TestASeed:
    def test_that_is_new_is_taken_and_the_latest_again_is_not(self) -> None:
        memory = SimulatorState(world=1, seeds={"2026-01-01": 5, "2026-02-01": 3})
        memory.take_seed(3, BEFORE)
        assert memory.seeds == {"2026-01-01": 5, "2026-02-01": 3}
        memory.take_seed(5, DAY)
        assert memory.seeds == {"2026-01-01": 5, "2026-02-01": 3, DAY.isoformat(): 5}


class TestWhatIsOver:
    def test_is_forgotten_and_nothing_else(self) -> None:
        days = [day.isoformat() for day in (BEFORE, DAY, AFTER)]
        ends = [NOW - SECOND, NOW, NOW + SECOND]
        memory = SimulatorState(
            world=1,
            seeds={"2026-01-01": 1},
            awards={day: [] for day in days},
            plans={day: {} for day in days},
            unsold={day: {} for day in days},
            holdings=[SimulatedHolding("", "hanse", "TenneT", NOW, end, 1.0, 1.0, 1.0) for end in ends],
            auctions=[OpenAuction("", "TenneT", day, NOW) for day in (BEFORE, DAY, AFTER)],
            outages=[SimulatedOutage("", NOW, end, 0.5, planned=True) for end in ends],
        )
        memory.forget_before(DAY, NOW)
        assert [list(memory.awards), list(memory.plans), list(memory.unsold)] == [days[1:], days[1:], days[2:]]
        assert [one.end for one in memory.holdings] == [one.end for one in memory.outages] == [NOW + SECOND]
        assert [one.delivery_day for one in memory.auctions] == [DAY, AFTER]

    def test_waits_for_the_meters_where_it_is_an_outage(self) -> None:
        outages = [SimulatedOutage("", NOW - 9 * SECOND, NOW - n * SECOND, 0.5, planned=True) for n in (1, 2, 3)]
        memory = SimulatorState(world=1, seeds={"2026-01-01": 1}, outages=outages, metered_until=NOW - 2 * SECOND)
        memory.forget_before(DAY, NOW)
        assert memory.outages == outages[:1]
