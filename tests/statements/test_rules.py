"""Which month has a statement, and can be issued, by the clock and by those before it."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import RFC_4122, UUID, uuid4

import msgspec
import numpy as np
import pytest
from msgspec import UNSET

from gridloom.delivery.performance.measured import MeasuredMean, Measurements
from gridloom.kernel.market_time import market_day_window, period_number
from gridloom.kernel.window import Window
from gridloom.platform.jobs import JobRun
from gridloom.revenue.statement.model import LineType
from gridloom.statements import issuing, ledger_store, missing_store, store
from gridloom.statements import missing as missing_facts
from gridloom.statements.assembling import Amounts, Issue, Naming, assemble
from gridloom.statements.entries import EMPTY, MonthAccounts, pack_entries
from gridloom.statements.figures import AssetMonth
from gridloom.statements.issuing import _Issuing, _sum_amounts, _write_statements
from gridloom.statements.missing_store import BackedLife, ZoneLife
from gridloom.statements.model import (
    IssuedReference,
    LineSums,
    Month,
    PartyEntry,
    RunStatus,
    StatementRun,
    statement_id,
)
from gridloom.statements.rules import (
    AlreadyIssued,
    EarlierMonthOpen,
    MonthNotOver,
    check_month,
    in_order,
    subtract_entries,
    sum_by_organisation,
    sum_over_parties,
    sum_parties,
)
from gridloom.statements.store import Letterhead
from gridloom.statements.views import CorrectedLine, IssuedStatement, StatementFigures

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

    async def test_is_missing_of_each_zone_by_its_own_life(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of a zone that was never dispatched for all of its life, which does not begin with the month."""
        first, day = JANUARY.window.start, timedelta(days=1)
        lives = [
            ZoneLife("50Hertz", first + 20 * day, first + 30 * day),
            ZoneLife("Amprion", first + 5 * day, first + 9 * day),
            ZoneLife("TenneT", first, first + 12 * day),
        ]

        async def read_final_until(db: Any) -> dict[str, int]:
            return {"Amprion": period_number(first + 8 * day), "TenneT": period_number(first + 10 * day)}

        async def list_zone_lives(db: Any, month: Month) -> list[ZoneLife]:
            return lives

        monkeypatch.setattr(missing_facts, "read_final_until", read_final_until)
        monkeypatch.setattr(missing_store, "list_zone_lives", list_zone_lives)
        nothing: Any = None
        found = await missing_facts._find_undispatched(nothing, JANUARY)
        assert [(gap.delivery_zone, gap.periods) for gap in found] == [
            ("50Hertz", 10 * 96),
            ("Amprion", 96),
            ("TenneT", 2 * 96),
        ]


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

    async def test_are_listed_with_all_else_that_is_missing_up_to_a_thousand(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        counts = {"_find_missing_prices": 62, "_find_unsettled": 900, "_find_undispatched": 4, "_find_unmeasured": 60}

        def list_gaps(name: str, count: int) -> Any:
            async def find(db: Any, month: Month) -> list[tuple[str, int]]:
                return [(name, number) for number in range(count)]

            return find

        for name, count in counts.items():
            monkeypatch.setattr(missing_facts, name, list_gaps(name, count))
        nothing: Any = None
        found: list[Any] = await missing_facts.find_gaps(nothing, MARCH)
        assert [(name, sum(one == name for one, _ in found)) for name in counts] == [
            *list(counts.items())[:3],
            ("_find_unmeasured", 1000 - 62 - 900 - 4),
        ]


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

    async def test_are_the_mean_share_of_the_quarter_hours_of_a_life(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """From the one that it begins in to the one that it ends in."""
        first = JANUARY.window.start
        asked: list[Any] = []

        async def load_measurements(db: Any, *of: int) -> Measurements:
            asked.append(of)
            count = of[2] - of[1]
            share, other = np.array([1.0, 0.2, 0.3, 0.0])[:count], np.ones(count)
            return Measurements(MeasuredMean(other, share), MeasuredMean(other, other), other)

        monkeypatch.setattr(missing_facts, "load_measurements", load_measurements)
        nothing: Any = None
        number, found = period_number(first), []
        for start_s, end_s in ((0, 3600), (450, 1801), (900, 900)):
            life = BackedLife(7, first + timedelta(seconds=start_s), first + timedelta(seconds=end_s))
            found.append(await missing_facts.read_measured_share(nothing, life))
        assert found == pytest.approx([0.375, 0.5, 1.0])
        assert asked == [(7, number, number + 4), (7, number, number + 3), (7, number + 1, number + 1)]

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
        assert [month.day_count for month in (JANUARY, FEBRUARY, MARCH)] == [31, 29, 31]

    def test_gives_the_statement_of_each_organisation_an_id_that_tells_its_time(self) -> None:
        ids = [statement_id(UUID(int=number), month) for number in range(20) for month in (JANUARY, FEBRUARY)]
        assert {(one.version, one.variant) for one in ids} == {(7, RFC_4122)}
        assert [one.int >> 80 for one in ids[:2]] == [
            int(month.window.start.timestamp()) * 1000 for month in (JANUARY, FEBRUARY)
        ]
        assert len({one.int & ((1 << 62) - 1) for one in ids}) == len(ids)
        assert statement_id(UUID(int=0), JANUARY) == ids[0]

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

    def test_lists_its_own_lines_by_day_and_then_corrections_by_month(self) -> None:
        shown = self.show(by_day=True)
        other, stranger = str(self.OTHER), str(self.STRANGER)
        assert [(f"{one.day}", one.line, str(one.amount), one.counterparty) for one in shown.lines] == [
            ("2028-01-01", "TRADING", "12.05", "MARKET"),
            ("2028-01-01", "AUCTION", "-0.01", other),
            ("2028-01-02", "TRADING", "-0.05", "MARKET"),
            ("2028-01-04", "FCR", "0.07", "MARKET"),
            ("2028-01-05", "FCR", "-0.07", "MARKET"),
            ("2028-01-31", "AUCTION", "-2.50", other),
            ("2027-11-30", "CORRECTION", "-3.00", "MARKET"),
            ("2027-12-30", "CORRECTION", "0.02", stranger),
            ("2027-12-31", "CORRECTION", "0.40", stranger),
        ]
        assert all(one.time == market_day_window(one.day).start for one in shown.lines)
        assert [one.counterparty_name for one in shown.lines] == [
            "Other" if one.counterparty == other else UNSET for one in shown.lines
        ]
        assert [one.corrects for one in shown.lines] == [
            *[UNSET] * 6,
            CorrectedLine(month="2027-11", line="TRADING"),
            *[CorrectedLine(month="2027-12", line="FCR", statement_id=UUID(int=9), number="2028-0004")] * 2,
        ]

    def test_sums_a_month_up_and_leaves_out_what_comes_to_nothing(self) -> None:
        shown = self.show(by_day=False)
        assert [(f"{one.day}", one.line, str(one.amount)) for one in shown.lines] == [
            ("2028-01-01", "TRADING", "12.00"),
            ("2028-01-01", "AUCTION", "-2.51"),
            ("2027-11-01", "CORRECTION", "-3.00"),
            ("2027-12-01", "CORRECTION", "0.42"),
        ]

    def test_has_the_total_and_what_it_corrects_and_once_issued_its_number(self) -> None:
        shown = self.show(by_day=True)
        assert (shown.status, str(shown.total)) == ("PRELIMINARY", "6.91")
        assert (shown.month, shown.start, shown.end) == ("2028-01", JANUARY.window.start, JANUARY.window.end)
        assert (shown.number, shown.issued_at, shown.as_of) == (UNSET, UNSET, UNSET)
        assert [(one.month, str(one.amount), one.number, one.statement_id) for one in shown.corrects] == [
            ("2027-11", "-3.00", UNSET, UNSET),
            ("2027-12", "0.42", "2028-0004", UUID(int=9)),
        ]
        assert (shown.address, shown.issuer_name, shown.issuer_address) == (UNSET, "Other", "Way 1")
        now = FEBRUARY.window.end
        issued = self.show(by_day=True, issue=Issue("2028-0005", now, now - timedelta(hours=1)))
        assert (issued.status, issued.number, issued.issued_at) == ("ISSUED", "2028-0005", now)
        assert (issued.as_of, issued.id) == (now - timedelta(hours=1), statement_id(self.OURS, JANUARY))
        assert (issued.lines, issued.total, issued.corrects) == (shown.lines, shown.total, shown.corrects)

    def test_is_of_each_organisation_that_has_lines_or_whose_earlier_months_have_changed(self) -> None:
        def pack(*entries: tuple[UUID, int]) -> bytes:
            return pack_entries([PartyEntry(who, LineType.FCR, "MARKET", np.array([cents])) for who, cents in entries])

        drafts = {
            JANUARY: {1: pack((self.OURS, 5)), 2: pack((self.OURS, 6))},
            self.DECEMBER: {1: pack((self.OTHER, 9))},
        }
        accounted = {self.DECEMBER: {1: pack((self.OTHER, 2), (self.STRANGER, 3))}}
        found = _sum_amounts(JANUARY, drafts, accounted)
        key = LineType.FCR, "MARKET"
        assert [(one.organisation_id, one.month, one.total_cents) for one in found] == [
            (self.OURS, JANUARY, 11),
            (self.OTHER, JANUARY, 7),
            (self.STRANGER, JANUARY, -3),
        ]
        assert [[sums[key].tolist() for sums in (one.own, *one.corrections.values()) if sums] for one in found] == [
            [[11]],
            [[7]],
            [[-3]],
        ]
        assert [list(one.corrections) for one in found] == [[], [self.DECEMBER], [self.DECEMBER]]

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
    async def test_computes_each_month_as_of_its_own_instant_and_figures_of_its_month_alone(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        as_of, written = FEBRUARY.window.end, []
        run = StatementRun(uuid4(), FEBRUARY, RunStatus.RUNNING, False, as_of, as_of, 4, 0, None)
        did = AssetMonth(1, 2.0, 0.0, 0.0, 0.0, None, None)

        async def list_assets(db: Any, keys: list[int], window: Window) -> Any:
            return keys, window

        async def load_accounts(db: Any, assets: Any, month: Month, instant: datetime | None) -> MonthAccounts:
            assert (assets[1], instant) == (month.window, as_of)
            return MonthAccounts({}, dict.fromkeys(assets[0], did))

        async def write_drafts(db: Any, id: UUID, month: Month, bodies: Any, figures: dict[int, bytes]) -> None:
            assert (id, set(bodies.values())) == (run.id, {EMPTY})
            written.append((month, [*bodies], {key: msgspec.msgpack.decode(body)[1] for key, body in figures.items()}))

        monkeypatch.setattr(ledger_store, "list_assets", list_assets)
        monkeypatch.setattr(issuing, "load_accounts", load_accounts)
        monkeypatch.setattr(store, "write_drafts", write_drafts)
        nothing: Any = None
        await issuing._compute_some(nothing, run, as_of, [(1, JANUARY), (2, JANUARY), (3, FEBRUARY)])
        assert written == [(JANUARY, [1, 2], {}), (FEBRUARY, [3], {3: 2.0})]

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
