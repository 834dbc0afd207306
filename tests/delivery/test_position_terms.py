"""Open positions term by term, and that as of an instant every term is asked for what was recorded until then."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.delivery import zone_store
from gridloom.delivery.dispatch.reading import DispatchSeries
from gridloom.delivery.inputs import store as input_store
from gridloom.delivery.model import PartKind
from gridloom.delivery.performance.measured import MeasuredMean, Measurements
from gridloom.delivery.performance.performance import Performance
from gridloom.delivery.positions import position
from gridloom.settlements.period_volumes import PeriodVolumes
from gridloom.virtual_assets.energy.projection import Cut
from gridloom.virtual_assets.model import AdjustmentReason

pytestmark = pytest.mark.pure

NOTHING: Any = None
FIRST = 96 * 20_500 + 94
END = FIRST + 3
THEN = datetime(2026, 2, 17, 10, tzinfo=UTC)
VIRTUAL: Any = SimpleNamespace(key=7, first_misfit=None, terms=SimpleNamespace(delivery_zone="TenneT"))
PRICES = [100.0, -50.0, 20.0]


class Facts:
    """What is read of the virtual asset 7 and the battery 9; every reading is noted with what was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.unannounced_kw = np.array([0.0, 4.0, 0.0])
        volumes = PeriodVolumes(np.array([0.0, 0.01, 0.02]), np.array([0.12, 0.0, 0.0]), np.array([0.0, 0.0, 0.04]))
        for name, answer in {
            "read_unannounced_kw": self.unannounced_kw,
            "read_powers_as_of": (np.array([400.0, -200.0, 0.0]), np.array([480.0, -300.0, 8.0])),
            "read_accepted_kw": np.array([800.0, 80.0, 8.0]),
            "read_period_volumes": volumes,
            "read_period_prices": np.array(PRICES),
            "read_day_range": "the days' powers",
            "load_projection_input": (None, SimpleNamespace(power_kw=np.array([[300.0, 0, 0], [180.0, -200.0, 0]]))),
        }.items():
            monkeypatch.setattr(position, name, self._noting(name, answer))
        netted = (np.array([0.25, 0.5, 1.0]), np.array([0.5, 0.75, 1.0]))
        monkeypatch.setattr(zone_store, "read_netting", self._noting("read_netting", netted))

    def _noting(self, name: str, answer: Any) -> Any:
        async def read(db: Any, *given: Any) -> Any:
            shown = [one.key if one is VIRTUAL else one.tolist() if hasattr(one, "tolist") else one for one in given]
            self.asked.append((name, *shown))
            return answer

        return read


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> Facts:
    def total_power_kw(powers: Any, first: int, end: int) -> Any:
        assert (powers, first, end) == ("the days' powers", FIRST, END)
        return np.array([400.0, -200.0, 0.0])

    monkeypatch.setattr(position, "total_power_kw", total_power_kw)
    return Facts(monkeypatch)


def terms_of(found: position.Position) -> dict[str, Any]:
    names = ("bought_mwh", "sold_mwh", "scheduled_mwh", "netted_mwh", "activated_mwh", "delivered_mwh", "price_eur_mwh")
    return {name: pytest.approx(getattr(found, name).tolist()) for name in (*names, "open_mwh", "cost_eur")}


class TestAPosition:
    async def test_of_an_instant_has_each_term_as_it_was_recorded_then(self, facts: Facts) -> None:
        found = await position.load_position(NOTHING, VIRTUAL, FIRST, END, THEN)
        assert sorted(facts.asked) == [
            ("read_netting", "TenneT", FIRST, END, THEN),
            ("read_period_prices", "REBAP_DE", FIRST, END, THEN),
            ("read_period_volumes", 7, FIRST, END, THEN),
            ("read_powers_as_of", 7, THEN, FIRST, END),
            ("read_unannounced_kw", 7, FIRST, END, THEN),
        ]
        assert found.first == FIRST
        assert terms_of(found) == {
            "bought_mwh": [0.0, 0.01, 0.02],
            "sold_mwh": [0.12, 0.0, 0.0],
            "scheduled_mwh": [0.12, -0.075, 0.002],
            "netted_mwh": [0.025, -0.0375, 0.0],
            "activated_mwh": [0.0, 0.0, 0.04],
            "delivered_mwh": [0.1, -0.049, 0.04],
            "price_eur_mwh": PRICES,
            "open_mwh": [0.02, 0.039, -0.02],
            "cost_eur": [2.0, -1.95, -0.4],
        }

    async def test_of_now_has_what_was_accepted_before_any_cut_as_scheduled(self, facts: Facts) -> None:
        """Its quarter-hours lie in two days of UTC."""
        found = await position.load_position(NOTHING, VIRTUAL, FIRST, END)
        assert sorted(facts.asked, key=str) == [
            ("read_accepted_kw", 7, FIRST, [400.0, -200.0, 0.0]),
            ("read_day_range", 7, range(20_500, 20_502)),
            ("read_netting", "TenneT", FIRST, END, None),
            ("read_period_prices", "REBAP_DE", FIRST, END, None),
            ("read_period_volumes", 7, FIRST, END, None),
            ("read_unannounced_kw", 7, FIRST, END, None),
        ]
        assert found.scheduled_mwh.tolist() == pytest.approx([0.2, 0.02, 0.002])
        assert found.delivered_mwh.tolist() == pytest.approx([0.1, -0.049, 0.04])

    @pytest.mark.parametrize(("misfit", "is_cut"), [(FIRST - 1, True), (END - 1, True), (END, False)])
    async def test_of_now_counts_the_cuts_to_come_in_it_and_those_unannounced_as_delivered(
        self, facts: Facts, monkeypatch: pytest.MonkeyPatch, misfit: int, is_cut: bool
    ) -> None:
        """Of 480 kW 400 are left, or 440 by what is announced; of -200 kW -120, of which nothing is."""
        cuts = [
            Cut(0, 480.0, 400.0, AdjustmentReason.AVAILABILITY),
            Cut(1, -200.0, -120.0, AdjustmentReason.CYCLE_LIMIT),
        ]
        projection = SimpleNamespace(total_kw=np.array([400.0, -120.0, 0.0]), cuts=cuts)
        monkeypatch.setattr(position, "project", lambda given: projection)

        async def with_announced(db: Any, asset: Any, given: list[Any], *, own_cycles: bool) -> list[Any]:
            assert (asset.key, own_cycles) == (7, True)
            told = {one.period - FIRST: (one.accepted_kw, one.adjusted_kw, one.reason) for one in given}
            assert told == {cut.position: (cut.accepted_kw, cut.adjusted_kw, cut.reason) for cut in cuts}
            left = {FIRST: 440.0, FIRST + 1: None}
            return [
                SimpleNamespace(period=one.period, announced_kw=left[one.period], adjusted_kw=one.adjusted_kw)
                for one in given
            ]

        monkeypatch.setattr(position, "with_announced", with_announced)
        asset: Any = SimpleNamespace(key=7, first_misfit=misfit, terms=VIRTUAL.terms)
        found = await position.load_position(NOTHING, asset, FIRST, END)
        assert found.delivered_mwh.tolist() == pytest.approx([0.11, 0.001, 0.04] if is_cut else [0.1, -0.049, 0.04])
        accepted_kw = [480.0, -200.0, 0.0] if is_cut else [400.0, -200.0, 0.0]
        assert ("read_accepted_kw", 7, FIRST, accepted_kw) in facts.asked
        assert facts.unannounced_kw.tolist() == [0.0, 4.0, 0.0], "what was read stays as it is for others"


class TestAnOpenPosition:
    @pytest.mark.parametrize("as_of", [None, THEN])
    async def test_costs_the_same_by_facts_that_were_read_before(self, facts: Facts, as_of: datetime | None) -> None:
        volumes = PeriodVolumes(np.array([0.0, 0.01, 0.02]), np.array([0.12, 0.0, 0.0]), np.array([0.0, 0.0, 0.04]))
        known = position.PeriodFacts(volumes, facts.unannounced_kw, np.array(PRICES))
        found = await position.load_open_position(NOTHING, VIRTUAL, FIRST, END, known, as_of)
        assert found.power_kw.tolist() == [400.0, -200.0, 0.0]
        assert found.cost_eur.tolist() == pytest.approx([2.0, -1.95, -0.4])
        read = [("read_powers_as_of", 7, THEN, FIRST, END)] if as_of else [("read_day_range", 7, range(20_500, 20_502))]
        assert facts.asked == read

    async def test_reads_no_powers_that_were_read_before(self, facts: Facts) -> None:
        known: Any = position.PeriodFacts(PeriodVolumes(*np.zeros((3, 3))), facts.unannounced_kw, np.array(PRICES))
        powers: Any = "the days' powers"
        await position.load_open_position(NOTHING, VIRTUAL, FIRST, END, known, None, powers)
        assert facts.asked == []


class TestThePositionOfAnOwner:
    @pytest.mark.parametrize("as_of", [None, THEN])
    async def test_is_read_of_the_battery_and_of_what_it_backs_as_of_the_instant(
        self, facts: Facts, monkeypatch: pytest.MonkeyPatch, as_of: datetime | None
    ) -> None:
        """All of it was measured: 320 kW, of which 200 were for the virtual asset."""

        async def load_performance(db: Any, key: int, first: int, end: int, then: datetime | None) -> Performance:
            assert (key, first, end, then) == (9, FIRST, END, as_of)
            nothing, parts = np.zeros(3), {(PartKind.VIRTUAL, 7): np.full(3, 200.0)}
            dispatch = DispatchSeries(1, FIRST, np.ones(3, dtype=bool), nothing, nothing, nothing, parts)
            measured = MeasuredMean(np.full(3, 320.0), np.ones(3))
            return Performance(dispatch, Measurements(measured, MeasuredMean(nothing, nothing), nothing))

        async def read_backed_shares(db: Any, key: int, first: int, end: int) -> list[Any]:
            assert (key, first, end) == (9, FIRST, END)
            return [SimpleNamespace(asset_key=7, share=0.5)]

        async def read_own_kw(db: Any, keys: list[int], first: int, end: int) -> Any:
            assert (keys, first, end) == ([9], FIRST, END)
            return np.zeros((1, 3))

        monkeypatch.setattr(position, "load_performance", load_performance)
        monkeypatch.setattr(input_store, "read_backed_shares", read_backed_shares)
        monkeypatch.setattr(input_store, "read_own_kw", read_own_kw)
        found = await position.load_owner_position(NOTHING, 9, FIRST, END, as_of)
        assert sorted(facts.asked, key=str) == [
            ("read_period_prices", "REBAP_DE", FIRST, END, as_of),
            ("read_period_volumes", 7, FIRST, END, as_of),
            ("read_period_volumes", 9, FIRST, END, as_of),
            ("read_unannounced_kw", 7, FIRST, END, as_of),
            ("read_unannounced_kw", 9, FIRST, END, as_of),
        ]
        # Traded as it is itself, 30 kWh beyond the dispatch, half of 40 activated and of 1 cut unannounced.
        open_mwh = [0.12 - 0.03, -0.01 - 0.03 + 0.0005, -0.02 + 0.04 - 0.03 + 0.02]
        assert found.open_mwh.tolist() == pytest.approx(open_mwh)
        assert found.cost_eur.tolist() == pytest.approx(
            [mwh * price for mwh, price in zip(open_mwh, PRICES, strict=True)]
        )
