"""Which month has a statement, and can be issued, by the clock and by those before it."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import msgspec
import numpy as np
import pytest

from gridloom.kernel.market_time import period_number
from gridloom.platform.jobs import JobRun
from gridloom.revenue.statement.model import LineType
from gridloom.statements import issuing, missing_store, store
from gridloom.statements import missing as missing_facts
from gridloom.statements.assembling import Amounts, Issue, Naming, assemble
from gridloom.statements.issuing import _Issuing, _write_statements
from gridloom.statements.missing_store import BackedLife, ZoneLife
from gridloom.statements.model import (
    IssuedReference,
    LineSums,
    Month,
    RunStatus,
    StatementRun,
)
from gridloom.statements.rules import (
    AlreadyIssued,
    EarlierMonthOpen,
    MonthNotOver,
    check_month,
    sum_over_parties,
    sum_parties,
)
from gridloom.statements.store import Letterhead
from gridloom.statements.views import IssuedStatement, StatementFigures

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


class TestItsPrices:
    async def test_are_missing_by_market_day_also_after_the_clock_was_changed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In March all imbalance prices but those of its second and its last quarter-hour; of the others the last."""
        asked: list[tuple[str, int, int]] = []

        async def read_period_prices(db: Any, series: str, first: int, end: int) -> Any:
            asked.append((series, first, end))
            is_known = np.ones(end - first, dtype=bool)
            if series == "REBAP_DE":
                is_known[:] = False
                is_known[[1, -1]] = True
            else:
                is_known[-1] = False
            return np.where(is_known, 50.0, np.nan)

        monkeypatch.setattr(missing_facts, "read_period_prices", read_period_prices)
        nothing: Any = None
        found = await missing_facts._find_missing_prices(nothing, MARCH)
        days = [MARCH.first_day + timedelta(days=n) for n in range(31)]
        lengths = [95, *[96] * 24, 92, *[96] * 4, 95]
        assert [(gap.kind, gap.day, gap.periods) for gap in found] == [
            *[("IMBALANCE_PRICE", day, count) for day, count in zip(days, lengths, strict=True)],
            ("DAY_AHEAD_PRICE", days[-1], 1),
        ]
        span = period_number(MARCH.window.start), period_number(MARCH.window.end)
        assert asked == [("REBAP_DE", *span), ("DAY_AHEAD_DE_LU", *span)]


class TestItsMeasurements:
    async def test_are_missing_of_batteries_that_were_measured_for_less_than_95_hundredths_of_their_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        window = JANUARY.window
        shares = {1: 0.95, 2: 0.9499999, 3: 1.0, 4: 0.0}

        async def list_backed_lives(db: Any, month: Month) -> list[BackedLife]:
            return [BackedLife(key, window.start, window.end) for key in shares]

        async def read_ids(db: Any, keys: Any) -> dict[int, UUID]:
            return {key: UUID(int=100 + key) for key in keys}

        async def read_measured_share(db: Any, life: BackedLife) -> float:
            return shares[life.asset_key]

        monkeypatch.setattr(missing_store, "list_backed_lives", list_backed_lives)
        monkeypatch.setattr(missing_store, "read_ids", read_ids)
        monkeypatch.setattr(missing_facts, "read_measured_share", read_measured_share)
        nothing: Any = None
        found = await missing_facts._find_unmeasured(nothing, JANUARY)
        assert [(gap.physical_asset_id, gap.measured_share) for gap in found] == [
            (UUID(int=102), 0.95),
            (UUID(int=104), 0.0),
        ]

    async def test_are_those_of_several_times_by_their_length_and_of_none_between_them(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nine days and, after a pause, one day: half of the last one is enough if the nine were measured whole."""
        day, first = timedelta(days=1), JANUARY.window.start
        shares = {1: (1.0, 0.5), 2: (1.0, 0.4), 3: (0.4, 1.0)}

        async def list_backed_lives(db: Any, month: Month) -> list[BackedLife]:
            return [
                BackedLife(key, start, end)
                for key in shares
                for start, end in ((first, first + 9 * day), (first + 20 * day, first + 21 * day))
            ]

        async def read_ids(db: Any, keys: Any) -> dict[int, UUID]:
            return {key: UUID(int=100 + key) for key in keys}

        async def read_measured_share(db: Any, life: BackedLife) -> float:
            return shares[life.asset_key][life.start > first]

        monkeypatch.setattr(missing_store, "list_backed_lives", list_backed_lives)
        monkeypatch.setattr(missing_store, "read_ids", read_ids)
        monkeypatch.setattr(missing_facts, "read_measured_share", read_measured_share)
        nothing: Any = None
        found = await missing_facts._find_unmeasured(nothing, JANUARY)
        assert [(gap.physical_asset_id, gap.measured_share) for gap in found] == [
            (UUID(int=102), 0.94),
            (UUID(int=103), 0.46),
        ], "each battery once"


class TestAMonth:
    def test_has_a_statement_for_lines_of_its_own_or_for_corrections_of_earlier_ones(self) -> None:
        """A fact that changes after an organisation's last month of delivery."""
        sums: LineSums = {(LineType.TRADING, "MARKET"): np.array([500])}
        for own, corrections, is_empty in (({}, {}, True), (sums, {}, False), ({}, {JANUARY: sums}, False)):
            assert Amounts(uuid4(), MARCH, own, corrections).is_empty is is_empty

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
        for issued, said in ((MARCH, "is issued"), (FEBRUARY, "is issued"), (JANUARY, "lies before 2028-02")):
            with pytest.raises(AlreadyIssued, match=said):
                check_month(issued, [FEBRUARY, MARCH], now)


def cents_on(month: Month, **by_day: int) -> Any:
    """`d3=500`: on the third day of the month."""
    cents = np.zeros(month.day_count, dtype=np.int64)
    for day, amount in by_day.items():
        cents[int(day[1:]) - 1] = amount
    return cents


class TestAStatement:
    """Two lines of January, and corrections of two months, of which one statement is known."""

    OURS, OTHER, STRANGER = UUID(int=1), UUID(int=2), UUID(int=3)
    NOVEMBER, DECEMBER = Month.parse("2027-11"), Month.parse("2027-12")
    REFERENCE = IssuedReference(UUID(int=9), DECEMBER, "2028-0004")

    def amounts(self) -> Amounts:
        own: LineSums = {
            (LineType.AUCTION, str(self.OTHER)): cents_on(JANUARY, d1=-1, d31=-250),
            (LineType.TRADING, "MARKET"): cents_on(JANUARY, d1=1205, d2=-5),
            (LineType.FCR, "MARKET"): cents_on(JANUARY, d4=7, d5=-7),
        }
        corrections: dict[Month, LineSums] = {
            self.DECEMBER: {(LineType.FCR, str(self.STRANGER)): cents_on(self.DECEMBER, d31=40, d30=2)},
            self.NOVEMBER: {(LineType.TRADING, "MARKET"): cents_on(self.NOVEMBER, d30=-300)},
        }
        return Amounts(self.OURS, JANUARY, own, corrections)

    def show(self, *, by_day: bool, issue: Issue | None = None) -> IssuedStatement:
        letterheads = {self.OURS: Letterhead("Ours", "", False), self.OTHER: Letterhead("Other", "Way 1", True)}
        naming = Naming(letterheads, {(self.OURS, self.DECEMBER): self.REFERENCE})
        return assemble(self.amounts(), naming, issue, by_day=by_day)

    def test_sums_a_month_up_and_leaves_out_what_comes_to_nothing(self) -> None:
        shown = self.show(by_day=False)
        assert [(f"{one.day}", one.line, str(one.amount)) for one in shown.lines] == [
            ("2028-01-01", "TRADING", "12.00"),
            ("2028-01-01", "AUCTION", "-2.51"),
            ("2027-11-01", "CORRECTION", "-3.00"),
            ("2027-12-01", "CORRECTION", "0.42"),
        ]

    def test_is_chained_to_the_one_before_it_and_numbered_after_it(self) -> None:
        one, now = self.amounts(), FEBRUARY.window.end
        figures = StatementFigures(assets=[], rated_power=1.0)
        known = now - timedelta(hours=1)
        issuing = _Issuing(now, known, 2028, Naming({}, {}), {self.OURS: figures})
        [first] = _write_statements([one], issuing, {}, {})
        [later] = _write_statements([one], issuing, {self.OURS: 41, self.OTHER: 7}, {self.OURS: b"before"})
        assert [(made.number, made.year, made.total_cents, made.month) for made in (first, later)] == [
            (1, 2028, 691, JANUARY),
            (42, 2028, 691, JANUARY),
        ]
        assert first.digest == hashlib.sha256(first.body).digest()
        assert later.digest == hashlib.sha256(b"before" + later.body).digest()
        assert b'"number":"2028-0042"' in later.body
        assert {made.issued_at for made in (first, later)} == {now}
        for written in (later.body, later.summary):
            shown = msgspec.json.decode(written, type=IssuedStatement)
            assert (shown.number, shown.issued_at, shown.as_of) == ("2028-0042", now, known)
        assert (later.body.count(b'"day"'), later.summary.count(b'"day"')) == (9, 4)


class TestAmountsOfParties:
    def test_are_those_of_organisations_and_mirrored_of_those_without_a_statement(self) -> None:
        ours, other = UUID(int=1), UUID(int=2)
        lines = [
            (ours, "TRADING", "MARKET", Decimal("12.00")),
            (other, "TRADING", "MARKET", Decimal("-2.00")),
            (ours, "AUCTION", str(other), Decimal("-5.00")),
            (other, "AUCTION", str(ours), Decimal("5.00")),
            (ours, "FCR", "GRID_OPERATOR", Decimal("3.00")),
            (ours, "FCR", "GRID_OPERATOR", Decimal("-3.00")),
        ]
        sums = sum_parties(lines)
        assert sums == {
            ("AUCTION", str(ours)): Decimal("-5.00"),
            ("AUCTION", str(other)): Decimal("5.00"),
            ("TRADING", str(ours)): Decimal("12.00"),
            ("TRADING", str(other)): Decimal("-2.00"),
            ("TRADING", "MARKET"): Decimal("-10.00"),
        }
        assert list(sums) == sorted(sums)
        assert sum_over_parties({**sums, ("FCR", "MARKET"): Decimal(4)}) == {
            "AUCTION": Decimal(0),
            "TRADING": Decimal(0),
            "FCR": Decimal(4),
        }


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
    @pytest.mark.parametrize(("attempt", "is_tried"), [(1, True), (3, True), (4, False)])
    async def test_fails_once_a_step_has_failed_three_times(
        self, monkeypatch: pytest.MonkeyPatch, attempt: int, is_tried: bool
    ) -> None:
        run = StatementRun(uuid4(), JANUARY, RunStatus.RUNNING, False, JANUARY.window.end, None, 0, 0, None)
        done: list[str] = []

        async def read_run(db: Any, id: UUID) -> StatementRun:
            return run

        async def platform_now_to_the_ms(db: Any) -> datetime:
            return JANUARY.window.end

        async def end_run(db: Any, id: UUID, status: RunStatus, now: datetime, fault: str) -> None:
            assert (id, status, now) == (run.id, RunStatus.FAILED, JANUARY.window.end)
            done.append(fault)

        async def measure_batteries(db: Any, found: StatementRun, step: int) -> None:
            done.append(f"step {step}")

        async def enqueue(db: Any, kind: str, *, key: str, due: datetime, payload: dict[str, int]) -> None:
            done.append(f"then {payload['step']}")

        monkeypatch.setattr(store, "read_run", read_run)
        monkeypatch.setattr(store, "end_run", end_run)
        monkeypatch.setattr(issuing, "_measure_batteries", measure_batteries)
        for name, stand_in in (
            ("platform_now_to_the_ms", platform_now_to_the_ms),
            ("real_now", platform_now_to_the_ms),
        ):
            monkeypatch.setattr(issuing, name, stand_in)
        monkeypatch.setattr(issuing, "enqueue", enqueue)
        nothing: Any = None
        asked = JobRun(
            db=nothing, kind=issuing.KIND, key=str(run.id), payload={"step": 2}, due=run.asked_at, attempt=attempt
        )
        await issuing.issue_month(asked)
        failed = "A step failed 3 times; the service's log says why."
        assert done == (["step 2", "then 3"] if is_tried else [failed])
