"""What the settings make of the service."""

from __future__ import annotations

from dataclasses import replace
from datetime import time, timedelta
from pathlib import Path

from gridloom.app import _health_checks, _make_gates, _make_shares, _reserve_minutes, create_edge
from gridloom.kernel.shares import ShareLimits
from gridloom.settings import Settings

PRODUCTION = Settings(environment="production", port=8123)


def names_of_checks(settings: Settings) -> list[str]:
    return [check.__name__ for check in _health_checks(settings, None).checks]


class TestAService:
    def test_watches_its_disk_where_the_database_is_its_own_and_else_the_nodes(self, tmp_path: Path):
        own = names_of_checks(replace(PRODUCTION, is_embedded=True, home=tmp_path))
        another = names_of_checks(PRODUCTION)
        assert ("check_disk" in own, "check_nodes" in own) == (True, False)
        assert ("check_disk" in another, "check_nodes" in another) == (False, True)

    def test_has_the_limits_that_are_set_and_counts_for_all_its_workers(self):
        limits = replace(ShareLimits(), requests_per_minute=7)
        made = _make_shares(replace(PRODUCTION, shares=limits))
        assert (made.limits, made.replica.rpartition(":")[2]) == (limits, "8123")
        assert create_edge(Settings(environment="sandbox")).shares.replica.endswith(":8000")

    def test_closes_gates_when_the_settings_say(self):
        gates = _make_gates(
            replace(
                PRODUCTION,
                gate_closure_fcr=time(8, 1),
                gate_closure_afrr_capacity=time(9, 2),
                gate_closure_afrr_energy_minutes=26,
                gate_opening=time(10, 3),
                gate_opening_fcr_days=15,
                gate_opening_afrr_days=8,
            )
        )
        assert (gates.fcr_day_before, gates.afrr_capacity_day_before, gates.opens_at) == (
            time(8, 1),
            time(9, 2),
            time(10, 3),
        )
        assert (gates.afrr_energy_lead, gates.fcr_days_ahead, gates.afrr_days_ahead) == (timedelta(minutes=26), 15, 8)

    def test_reserves_as_many_minutes_as_the_settings_say(self):
        kept = _reserve_minutes(
            replace(PRODUCTION, reserve_minutes_fcr=16, reserve_minutes_afrr=61, reserve_minutes_afrr_energy=31)
        )
        assert (kept.fcr, kept.afrr, kept.afrr_energy) == (16, 61, 31)
