"""Which month has a statement, and can be issued, by the clock and by those before it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from gridloom.kernel.market_time import period_number
from gridloom.revenue.statement.model import LineType
from gridloom.statements import missing as missing_facts
from gridloom.statements import missing_store
from gridloom.statements.assembling import Amounts, Naming, assemble
from gridloom.statements.missing_store import ZoneLife
from gridloom.statements.model import LineSums, Month, PartyEntry, RunStatus, StatementRun
from gridloom.statements.rules import (
    AlreadyIssued,
    EarlierMonthOpen,
    MonthNotOver,
    check_month,
    in_order,
    subtract_entries,
    sum_by_organisation,
)
from gridloom.statements.store import Letterhead

pytestmark = pytest.mark.pure

JANUARY, FEBRUARY, MARCH, APRIL = (Month.parse(f"2028-{number:02}") for number in range(1, 5))


class TestItsDispatch:
    @pytest.mark.parametrize(
        ("final_until", "missing"), [(-96, 2976), (0, 2976), (96, 2880), (2975, 1), (2976, None), (5000, None)]
    )
    async def test_is_missing_from_where_it_is_final_to_the_end_of_the_month(
        self, monkeypatch: pytest.MonkeyPatch, final_until: int, missing: int | None
    ) -> None:
        window = JANUARY.window

        async def read_final_until(db: Any) -> dict[str, int]:
            return {"TenneT": period_number(window.start) + final_until}

        async def list_zone_lives(db: Any, month: Month) -> list[ZoneLife]:
            return [ZoneLife("TenneT", window.start, window.end)]

        monkeypatch.setattr(missing_facts, "read_final_until", read_final_until)
        monkeypatch.setattr(missing_store, "list_zone_lives", list_zone_lives)
        nothing: Any = None
        found = await missing_facts._find_undispatched(nothing, JANUARY)
        assert [gap.periods for gap in found] == ([] if missing is None else [missing])


class TestAMonth:
    def test_has_a_statement_for_lines_of_its_own_or_for_corrections_of_earlier_ones(self) -> None:
        """A fact that changes after an organisation's last month of delivery."""
        sums: LineSums = {(LineType.TRADING, "MARKET"): np.array([500])}
        for own, corrections, is_empty in (({}, {}, True), (sums, {}, False), ({}, {JANUARY: sums}, False)):
            assert Amounts(uuid4(), MARCH, own, corrections).is_empty is is_empty

    def test_lists_its_lines_by_kind_and_then_by_counterparty(self) -> None:
        keys = [(LineType.AUCTION, "b"), (LineType.FCR, "z"), (LineType.AUCTION, "a"), (LineType.TRADING, "c")]
        kinds = list(LineType)
        expected = sorted(keys, key=lambda key: (kinds.index(key[0]), key[1]))
        assert in_order({key: np.array([1]) for key in keys}) == expected
        assert expected != sorted(keys, key=lambda key: key[1])

    def test_has_the_instants_from_its_first_midnight_to_its_last(self) -> None:
        assert Month.of(FEBRUARY.window.start) == Month.of(FEBRUARY.window.end - timedelta(microseconds=1)) == FEBRUARY
        assert (Month.of(FEBRUARY.window.start - timedelta(microseconds=1)), FEBRUARY.following) == (JANUARY, MARCH)
        assert Month.parse("2027-12").following == JANUARY

    def test_is_over_at_the_instant_of_its_end(self) -> None:
        check_month(MARCH, [], MARCH.window.end)
        with pytest.raises(MonthNotOver):
            check_month(MARCH, [], MARCH.window.end - timedelta(microseconds=1))

    def test_is_issued_after_the_one_before_it(self) -> None:
        now = APRIL.window.end
        check_month(APRIL, [FEBRUARY, MARCH], now)
        with pytest.raises(EarlierMonthOpen) as refused:
            check_month(APRIL, [FEBRUARY], now)
        assert refused.value.members["openMonth"] == "2028-03"
        for issued, said in ((FEBRUARY, "is issued"), (JANUARY, "lies before 2028-02")):
            with pytest.raises(AlreadyIssued, match=said):
                check_month(issued, [FEBRUARY, MARCH], now)


class TestEntries:
    def test_of_a_line_and_counterparty_are_one_and_those_of_nothing_give_no_statement(self) -> None:
        ours, idle, even = uuid4(), uuid4(), uuid4()
        entries = [
            PartyEntry(ours, LineType.TRADING, "MARKET", np.array([500, 0])),
            PartyEntry(ours, LineType.TRADING, "MARKET", np.array([20, -7])),
            PartyEntry(ours, LineType.TRADING, "other", np.array([3, 4])),
            PartyEntry(ours, LineType.FCR, "MARKET", np.array([0, 0])),
            PartyEntry(idle, LineType.FCR, "MARKET", np.array([0, 0])),
            PartyEntry(even, LineType.FCR, "MARKET", np.array([5, -5])),
        ]
        shown = {
            party: {key: cents.tolist() for key, cents in own.items()}
            for party, own in sum_by_organisation(entries).items()
        }
        assert shown == {
            ours: {(LineType.TRADING, "MARKET"): [520, -7], (LineType.TRADING, "other"): [3, 4]},
            even: {(LineType.FCR, "MARKET"): [5, -5]},
        }
        assert subtract_entries(entries, entries) == {}
        [(party, left)] = subtract_entries(entries[:2], entries[:1]).items()
        assert (party, left[LineType.TRADING, "MARKET"].tolist()) == (ours, [20, -7])


class TestItsLetterhead:
    def test_is_from_the_operator_to_the_organisation(self) -> None:
        ours, operator = uuid4(), uuid4()
        letterheads = {
            uuid4(): Letterhead("Another", "Elsewhere 1", False),
            ours: Letterhead("Rhine Storage", "Quay 2", False),
            operator: Letterhead("The platform", "Main Street 3", True),
        }
        shown = assemble(Amounts(ours, JANUARY, {}, {}), Naming(letterheads, {}), None)
        assert (shown.organisation_name, shown.address) == ("Rhine Storage", "Quay 2")
        assert (shown.issuer_name, shown.issuer_address) == ("The platform", "Main Street 3")


class TestARun:
    @pytest.mark.parametrize(
        ("status", "parts", "done", "progress"),
        [
            (RunStatus.RUNNING, 0, 0, 0.0),
            (RunStatus.RUNNING, 8, 2, 0.25),
            (RunStatus.FAILED, 8, 6, 0.75),
            (RunStatus.DONE, 8, 6, 1.0),
        ],
    )
    def test_has_come_as_far_as_its_parts_that_are_done(
        self, status: RunStatus, parts: int, done: int, progress: float
    ) -> None:
        run = StatementRun(uuid4(), JANUARY, status, False, JANUARY.window.end, None, parts, done, None)
        assert run.progress == progress
