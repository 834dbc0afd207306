"""Issuing a month: all organisations or none, numbered without gaps, frozen, and corrected by the next."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from tests.emitted import Emitted, events_of
from tests.revenue.reference import Trade, utc
from tests.revenue.world import row_of
from tests.statements.conftest import APRIL, FEBRUARY, JANUARY, MARCH, Books
from tests.virtual_assets.conftest import new_asset, register

from gridloom.kernel.market_time import period_number
from gridloom.platform.events.outbox import record_events
from gridloom.settlements.model import AFRR_CAPACITY_AWARDS, FCR_AWARDS, AFRRCapacityAward, FCRAward, Origin
from gridloom.settlements.recording import Recorder, record_settlements
from gridloom.statements import issuing
from gridloom.statements.ledger_store import find_changed
from gridloom.statements.missing_store import ZoneLife, list_backed_lives, list_zone_lives
from gridloom.statements.model import Month


def by_line(statement: dict[str, Any]) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for line in statement["lines"]:
        sums[line["line"]] += Decimal(str(line["amount"]))
    return dict(sums)


class TestAMonth:
    async def test_becomes_one_statement_for_each_organisation_with_lines(self, books: Books) -> None:
        await books.trade(books.held, date(2028, 1, 10), 80.0)
        before = {one.id: await books.statement(one, JANUARY) for one in books.everyone}
        run = await books.issue(JANUARY)
        assert (run["status"], run["progress"], run["month"]) == ("DONE", 1, JANUARY)
        trader = books.traders[0]
        issued = await books.statement(trader, JANUARY)
        assert (issued["status"], issued["number"]) == ("ISSUED", "2028-0001")
        assert by_line(issued) == {"TRADING": Decimal(80), "AUCTION": Decimal(-31_000)}
        assert issued["total"] == -30_920
        assert issued["lines"][0]["counterpartyName"] == "Owner"
        for one in books.everyone:
            after = await books.statement(one, JANUARY)
            assert before[one.id]["status"] == "PRELIMINARY"
            assert (after["id"], after["lines"]) == (before[one.id]["id"], before[one.id]["lines"])
        owner = await books.statement(books.owner, JANUARY)
        assert by_line(owner) == {"AUCTION": Decimal(62_000)}

    async def test_is_issued_once_in_order_and_when_it_is_over(self, books: Books) -> None:
        for month, problem in ((APRIL, "month-not-over"), ("2040-01", "month-not-over")):
            assert (await books.ask(month)).json()["type"].endswith(problem)
        await books.issue(FEBRUARY)
        for month, problem in ((FEBRUARY, "already-issued"), (JANUARY, "already-issued"), (APRIL, "month-not-over")):
            answer = await books.ask(month)
            assert (answer.status_code, answer.json()["type"].rpartition("/")[2]) == (409, problem), month
        await books.operator.put("/sandbox/clock", json={"advance": "P20D"})
        answer = await books.ask(APRIL)
        assert answer.json()["type"].endswith("earlier-month-open")
        assert answer.json()["openMonth"] == MARCH

    @pytest.mark.parametrize(
        "body", [{}, {"month": "2028"}, {"month": "2028-13"}, {"month": 1}, {"month": JANUARY, "x": 1}]
    )
    async def test_is_named_rightly(self, books: Books, body: dict[str, Any]) -> None:
        answer = await books.operator.post("/statements", json=body)
        assert (answer.status_code, len(answer.json()["errors"])) == (400, 1)

    async def test_is_the_operators_to_issue(self, books: Books) -> None:
        assert (await books.owner.admin.post("/statements", json={"month": JANUARY})).status_code == 403
        lacking = len((await books.operator.get(f"/statements/missing?month={JANUARY}")).json())
        run = (await books.issue(JANUARY))["id"]
        noted, *_ = (await books.operator.get("/audit-log?resource=/statements&limit=1")).json()
        assert noted["details"] == {"month": JANUARY, "runID": run, "missing": lacking}
        for path in (f"runs/{run}", f"missing?month={JANUARY}", "summary"):
            for reader in (books.owner.admin, books.owner.trader):
                assert (await reader.get(f"/statements/{path}")).status_code == 403, path
            assert (await books.operator.get(f"/statements/{path}")).status_code == 200, path
        assert (await books.operator.get(f"/statements/runs/{books.held}")).status_code == 404

    async def test_tells_every_organisation(self, books: Books) -> None:
        await books.issue(JANUARY)
        for one, total in zip(books.everyone, (62_000, -31_000, -31_000), strict=True):
            path = f"organisations/{one.id}/statements"
            [told] = await events_of(books.edge.pool, one.id, subject=path)
            id = (await books.statement(one, JANUARY))["id"]
            data = {"statementID": id, "number": "2028-0001", "month": JANUARY, "total": total}
            assert told == Emitted("statement.issued", f"{path}/{id}", "Read:revenue", data)

    async def test_lists_every_fact_it_lacks(self, books: Books) -> None:
        short = (utc(date(2028, 1, 10), 0), utc(date(2028, 1, 12), 0))  # in a zone where others live on
        brief = await books.world(books.traders[0]).virtual_asset(1, start=short[0], end=short[1])
        await books.world(books.owner).back(brief, books.second, 1.0)
        answer = await books.operator.post("/statements", json={"month": JANUARY})
        assert (answer.status_code, answer.json()["type"]) == (409, "/docs/problems/facts-missing")
        missing = answer.json()["missing"]
        kinds = [gap["kind"] for gap in missing]
        assert (kinds.count("IMBALANCE_PRICE"), kinds.count("DAY_AHEAD_PRICE")) == (31, 31)
        assert missing[0] == {"kind": "IMBALANCE_PRICE", "day": "2028-01-01", "periods": 96}
        assert {"kind": "DISPATCH", "deliveryZone": "TenneT", "periods": 2976} in missing
        unmeasured = {gap["physicalAssetID"] for gap in missing if gap["kind"] == "MEASUREMENT"}
        assert unmeasured == {str(books.battery), str(books.second)}
        for month in (Month.parse(JANUARY), Month.parse(FEBRUARY), Month.parse("2028-12")):
            for lives in (
                await list_backed_lives(books.edge.pool, month),
                await list_zone_lives(books.edge.pool, month),
            ):
                windows = {(life.start, life.end) for life in lives}
                assert windows == {(month.window.start, month.window.end)}, "of all that they back"
        await books.edge.pool.execute(
            "update virtual_asset set delivery_zone = 'Amprion' where asset_key = $1",
            await books.world(books.owner).key_of(brief),
        )
        window = Month.parse(JANUARY).window
        assert await list_zone_lives(books.edge.pool, Month.parse(JANUARY)) == [
            ZoneLife("Amprion", *short),
            ZoneLife("TenneT", window.start, window.end),
        ]
        for month in (Month.parse("2027-12"), Month.parse("2029-01")):
            assert await list_backed_lives(books.edge.pool, month) == []
            assert await list_zone_lives(books.edge.pool, month) == []
        there = {"kind": "DISPATCH", "deliveryZone": "Amprion", "periods": 2 * 96}
        missing.insert(missing.index({"kind": "DISPATCH", "deliveryZone": "TenneT", "periods": 2976}), there)
        read = await books.operator.get("/statements/missing", params={"month": JANUARY})
        assert (read.status_code, read.json()) == (200, missing), "as they are read before anything is asked for"
        assert (await books.owner.admin.get(f"/statements/missing?month={JANUARY}")).status_code == 403
        assert (await books.operator.get("/statements/missing?month=2028")).status_code == 400
        assert await books.edge.pool.fetchval("select count(*) from statement_run") == 0

    async def test_lacks_the_settlements_of_awards_on_its_own_days(self, books: Books) -> None:
        days = (date(2028, 1, 31), date(2028, 2, 1), date(2028, 2, 29), date(2028, 3, 1))
        asset, world = str(books.held), books.world(books.traders[0])
        blocks = [(day, 1.0) for day in days] + [(date(2028, 2, 2), 0.0)]
        fcr = [
            FCRAward(asset_id=asset, delivery_day=day, product="NEGPOS_04_08", capacity=capacity, settlement_price=10.0)
            for day, capacity in blocks
        ]
        afrr = [
            AFRRCapacityAward(asset_id=asset, delivery_day=day, product="POS_04_08", capacity=capacity, price=10.0)
            for day, capacity in blocks
        ]
        await world.record(FCR_AWARDS, fcr, Origin.PROVISIONAL)
        await world.record(AFRR_CAPACITY_AWARDS, afrr, Origin.PROVISIONAL)
        own = AFRRCapacityAward(
            asset_id=str(books.battery), delivery_day=days[1], product="NEG_04_08", capacity=1.0, price=10.0
        )
        await world.record(AFRR_CAPACITY_AWARDS, [own], Origin.PROVISIONAL)

        async def list_unsettled() -> list[dict[str, Any]]:
            missing = (await books.operator.get(f"/statements/missing?month={FEBRUARY}")).json()
            return [gap for gap in missing if gap["kind"] == "SETTLEMENT"]

        def name(day: str, product: str, of: str = asset) -> dict[str, Any]:
            return {"kind": "SETTLEMENT", "day": day, "assetID": of, "product": product}

        first, last = "2028-02-01", "2028-02-29"
        assert await list_unsettled() == [
            name(first, "NEGPOS_04_08"),
            name(first, "NEG_04_08", str(books.battery)),
            name(first, "POS_04_08"),
            name(last, "NEGPOS_04_08"),
            name(last, "POS_04_08"),
        ]
        await world.record(FCR_AWARDS, fcr[1:2], Origin.OPERATOR)
        await world.record(AFRR_CAPACITY_AWARDS, afrr[2:3], Origin.OPERATOR)
        assert await list_unsettled() == [
            name(first, "NEG_04_08", str(books.battery)),
            name(first, "POS_04_08"),
            name(last, "NEGPOS_04_08"),
        ], "but those that were settled"

    async def test_with_what_nothing_was_held_for_is_issued_only_where_that_is_allowed(self, books: Books) -> None:
        """A virtual asset of 1 MW has a block of 0.4 MW on the 21st of April; another had none in January."""
        held, trader = str(books.held), books.traders[0]
        battery = await register(books.operator, books.owner.id)
        window = {"start": utc(date(2028, 4, 21), 0).isoformat(), "end": utc(date(2028, 4, 22), 0).isoformat()}
        url = f"/organisations/{trader.id}/virtual-assets"
        made = await books.operator.post(url, json=new_asset([battery], **window))
        assert made.status_code == 201, made.text
        small = made.json()["id"]
        block = {"start": window["start"], "end": utc(date(2028, 4, 21), 4).isoformat(), "market": "FCR"}
        power = {"ratedChargePower": 400, "ratedDischargePower": 400}
        carved = await trader.trader.post(f"{url}/{small}/blocks", json=block | power)
        assert carved.status_code == 201, carved.text

        def award(asset: str, day: str, product: str, capacity: float, **price: float) -> dict[str, Any]:
            return {"assetID": asset, "deliveryDay": day, "product": product, "capacity": capacity, **price}

        fcr = [
            (held, "2028-01-10", "NEGPOS_00_04", 5),
            (small, "2028-04-21", "NEGPOS_00_04", 0.7),
            (small, "2028-04-21", "NEGPOS_04_08", 0.2),
        ]
        rows = {
            "fcr": [award(*one, settlementPrice=10) for one in fcr],
            "afrr-capacity": [award(held, "2028-01-10", "POS_00_04", 1, price=10)],
            "afrr-energy": [
                {"assetID": held, "time": utc(date(2028, 1, 10), hour).isoformat(), "direction": direction}
                | {"volume": 0.25, "price": 90}
                for hour, direction in ((1, "POS"), (5, "POS"), (6, "POS"), (1, "NEG"))
            ],
        }
        for kind, posted in rows.items():
            answer = await books.operator.post(f"/settlements/{kind}", json=posted)
            assert answer.status_code == 200, answer.text

        def unreserved(missing: list[dict[str, Any]], asset: str) -> list[dict[str, Any]]:
            found = [gap for gap in missing if gap["kind"] == "UNRESERVED"]
            assert {gap.pop("assetID") for gap in found} == {asset}
            return [{name: value for name, value in gap.items() if name != "kind"} for gap in found]

        open_month = (await books.operator.get(f"/statements/missing?month={APRIL}")).json()
        assert unreserved(open_month, small) == [
            {"day": "2028-04-21", "product": "NEGPOS_00_04", "unreserved": 0.3},
            {"day": "2028-04-21", "product": "NEGPOS_04_08", "unreserved": 0.2},
        ]
        refused = await books.operator.post("/statements", json={"month": JANUARY})
        assert refused.status_code == 409
        assert unreserved(refused.json()["missing"], held) == [
            {"day": "2028-01-10", "product": "NEGPOS_00_04", "unreserved": 5},
            {"day": "2028-01-10", "product": "POS_00_04", "unreserved": 1},
            {"day": "2028-01-10", "product": "AFRR_NEG", "periods": 1, "unreservedEnergy": 0.25},
            {"day": "2028-01-10", "product": "AFRR_POS", "periods": 2, "unreservedEnergy": 0.5},
        ]
        assert (await books.issue(JANUARY))["status"] == "DONE"


class TestAPreliminaryStatement:
    async def test_says_beside_its_total_what_of_it_has_been_until_now(self, books: Books) -> None:
        """On the 20th of April at noon, of 30 days at 1,000 EUR and of two trades, one of them of tomorrow."""
        for day, price in ((10, 80.0), (21, 50.0)):
            await books.trade(books.held, date(2028, 4, day), price, trade_id=f"t{day}")
        trader = books.traders[0]
        statement = await books.statement(trader, APRIL)
        assert (statement["total"], statement["toDate"]) == (-29_870, 80 - 19_500)
        march = await books.statement(trader, MARCH)
        assert march["toDate"] == march["total"]
        assert "toDate" not in await self._issue_january(books)

    async def _issue_january(self, books: Books) -> dict[str, Any]:
        await books.issue(JANUARY)
        return await books.statement(books.traders[0], JANUARY)


class TestAStatement:
    async def test_never_changes(self, books: Books) -> None:
        await books.trade(books.held, date(2028, 1, 10), 80.0)
        await books.issue(JANUARY)
        issued = {one.id: await books.statement(one, JANUARY) for one in books.everyone}
        bodies = {one.id: (await books.read(one, issued[one.id]["id"])).content for one in books.everyone}
        await books.trade(books.held, date(2028, 1, 10), 95.0)
        await books.toll(books.other, date(2028, 1, 1), date(2028, 3, 1), 50_000)
        await books.issue(FEBRUARY)
        for one in books.everyone:
            assert (await books.read(one, issued[one.id]["id"])).content == bodies[one.id]

    async def test_is_computed_again_where_a_fact_touches_it_and_no_other(self, books: Books) -> None:
        pool, world = books.edge.pool, books.world(books.owner)
        months = [Month.parse(month) for month in (JANUARY, FEBRUARY, MARCH)]
        since = await pool.fetchval("select platform_now()")
        before, after = since - timedelta(days=1), since + timedelta(seconds=1)
        held, battery = await world.key_of(books.held), await world.key_of(books.battery)

        async def touched(db: Any, key: int) -> list[str]:
            return sorted(str(month) for _, month in await find_changed(db, [key], months, since))

        dispatched = """insert into dispatch_version
                          (asset_key, version, run_id, recorded_at, first_period, end_period, body)
                        values ($1, $2, gen_random_uuid(), $3, $4, $5, '')"""
        accepted = """insert into schedule_version (asset_key, version, kind, accepted_at, author_kind)
                      values ($1, $2, 'SCHEDULE', $3, 'USER')"""
        changed = """insert into schedule_change
                       (asset_key, version, lane, first_period, end_period, run_first, run_length, power_kw)
                     values ($1, $2, 0, $3, $4, '{}', '{}', '{}')"""
        unheld = "insert into reserve_shortfall values ($1, $2, 'FCR', $3, 100, false, $4)"
        rated = """insert into physical_asset_parameters
                   select (jsonb_populate_record(p, jsonb_build_object(
                     'version', 99, 'valid_from', $2::timestamptz, 'recorded_at', $3::timestamptz))).*
                   from physical_asset_parameters p where asset_key = $1 limit 1"""
        midnight, edge = (period_number(utc(date(2028, month, 1), 0)) for month in (2, 3))
        async with pool.acquire() as db:
            undone = db.transaction()
            await undone.start()
            await db.execute(dispatched, battery, 901, before, midnight, edge + 1)
            await db.execute(rated, battery, utc(date(2028, 1, 5), 0), before)
            assert await touched(db, battery) == [], "what was recorded before"
            await db.execute(dispatched, battery, 902, after, midnight - 1, midnight + 1)
            assert await touched(db, battery) == [JANUARY, FEBRUARY], "on both sides of the market's midnight"
            await undone.rollback()
            undone = db.transaction()
            await undone.start()
            await db.execute(rated, battery, utc(date(2028, 2, 10), 0), after)
            assert await touched(db, battery) == [FEBRUARY, MARCH], "from then on"
            await undone.rollback()
            undone = db.transaction()
            await undone.start()
            for version, moment, first in ((901, before, midnight - 9), (902, after, midnight)):
                await db.execute(accepted, held, version, moment)
                await db.execute(changed, held, version, first, first + 9)
            assert await touched(db, held) == [FEBRUARY], "and not by the version before it"
            await undone.rollback()
            undone = db.transaction()
            await undone.start()
            for moment, period in ((before, midnight - 1), (after, midnight), (after, edge)):
                await db.execute(unheld, held, period, battery, moment)
            assert await touched(db, held) == [FEBRUARY, MARCH], "by reserve that turns out not to have been held"
            await undone.rollback()

    async def test_is_computed_again_where_a_price_of_its_first_hour_on_the_markets_clock_was_published(
        self, books: Books
    ) -> None:
        pool, months = books.edge.pool, [Month.parse(JANUARY), Month.parse(FEBRUARY)]
        since = await pool.fetchval("select platform_now() - interval '1 minute'")
        row = {"series": "REBAP_DE", "start": "2028-01-31T23:00:00Z", "end": "2028-01-31T23:15:00Z", "price": 70}
        answer = await books.operator.post("/reference-prices", json=[row])
        assert answer.status_code == 200, answer.text
        key = await books.world(books.owner).key_of(books.held)
        assert await find_changed(pool, [key], months, since) == {(key, months[1])}

    async def test_is_corrected_where_rated_power_is_recorded_that_reaches_back(self, books: Books) -> None:
        """A toll of 366 EUR/MW a day on 20 MW, of which half turn out to be missing from the 17th of January on."""
        await books.toll(books.battery, date(2028, 1, 1), date(2028, 2, 1), 366 * 366)
        await books.edge.pool.execute("update sandbox_clock set ahead = ahead + interval '2 days'")
        await books.issue(JANUARY)
        world = books.world(books.owner)
        await world.rate(books.battery, 10, utc(date(2028, 1, 17), 0))
        await books.edge.pool.execute(
            "update physical_asset_parameters set recorded_at = platform_now() where asset_key = $1 and version = 2",
            await world.key_of(books.battery),
        )
        await books.issue(FEBRUARY)
        corrected = by_line(await books.statement(books.owner, FEBRUARY))["CORRECTION"]
        assert corrected == -15 * 10 * 366

    async def test_counts_what_a_battery_measured_in_an_earlier_month_and_reported_late(
        self, books: Books, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However few batteries are looked at in one step."""
        monkeypatch.setattr(issuing, "ASSETS_AT_ONCE", 1)
        await books.issue(JANUARY)
        times = [
            f"{day}T{time}:00Z"
            for day, time in (
                ("2027-12-31", "22:59"),
                ("2028-01-10", "10:00"),
                ("2028-02-29", "22:59"),
                ("2028-02-29", "23:00"),
            )
        ]
        point = {"active_power": {"time": times, "value": [1000.0] * 4}}
        sent = await books.owner.admin.post(f"/monitoring/{books.second}/datapoints", json=point)
        assert sent.json()["written"] == 4, sent.text
        key, january = await books.world(books.owner).key_of(books.second), Month.parse(JANUARY)
        since = await books.edge.pool.fetchval("select platform_now() + interval '1 minute'")
        assert await find_changed(books.edge.pool, [key], [january], since) == {(key, january)}, "while it waits"
        await books.issue(FEBRUARY)
        measured = await books.edge.pool.fetch("select day from measured_day where asset_key = $1", key)
        assert sorted(row["day"] for row in measured) == [date(2028, 1, 10), date(2028, 2, 29)], (
            "a fact from the next run on, of the months from the first one issued to this one"
        )

    async def test_shows_what_was_settled_on_a_battery_that_backs_nothing(self, books: Books) -> None:
        """Neither a virtual asset nor a measurement says since when there is something to account for."""
        alone = await books.people.new_organisation("Alone")
        await books.trade(await books.world(alone).physical_asset(5), date(2028, 2, 3), 10.0)
        assert [(one["month"], one["total"]) for one in await books.list(alone)] == [(FEBRUARY, 10)]
        tolled = await books.people.new_organisation("Tolled")
        battery = await books.world(tolled).physical_asset(10)
        await books.toll(battery, date(2028, 2, 1), date(2028, 2, 2), 366)
        assert [(one["month"], one["total"]) for one in await books.list(tolled)] == [(FEBRUARY, 10)], "or its toll"

    async def test_is_read_by_its_organisation_and_the_operator(self, books: Books) -> None:
        await books.issue(JANUARY)
        trader, stranger = books.traders
        path = f"/organisations/{trader.id}/statements"
        id = (await books.statement(trader, JANUARY))["id"]
        for reader, status in (
            (trader.viewer, 200),
            (books.operator, 200),
            (stranger.admin, 403),
            (trader.engineer, 403),
        ):
            assert (await reader.get(path)).status_code == status
            assert (await reader.get(f"{path}/{id}")).status_code == status
        assert (await trader.viewer.get(f"{path}/{books.held}")).status_code == 404
        assert (await books.operator.get(f"/organisations/{books.held}/statements")).status_code == 404

    async def test_is_listed_page_by_page(self, books: Books) -> None:
        for month in (JANUARY, FEBRUARY):
            await books.issue(month)
        for narrowed, expected in (("", [APRIL, MARCH, FEBRUARY, JANUARY]), ("&status=PRELIMINARY", [APRIL, MARCH])):
            months, address = [], f"/organisations/{books.owner.id}/statements?limit=1{narrowed}"
            while address:
                answer = await books.owner.viewer.get(address)
                months.append([one["month"] for one in answer.json()])
                address = answer.links["next"]["url"] if "next" in answer.links else ""
            assert months == [[month] for month in expected]

    @pytest.mark.parametrize(
        ("query", "months"),
        [
            (f"month={MARCH}", [MARCH]),
            (f"month={JANUARY}", [JANUARY]),
            (f"month={JANUARY}&status=PRELIMINARY", []),
            ("status=ISSUED", [JANUARY]),
            ("status=PRELIMINARY", [APRIL, MARCH, FEBRUARY]),
        ],
    )
    async def test_is_found_by_its_month_and_status(self, books: Books, query: str, months: list[str]) -> None:
        await books.issue(JANUARY)
        answer = await books.owner.viewer.get(f"/organisations/{books.owner.id}/statements?{query}")
        assert [one["month"] for one in answer.json()] == months


class TestNumbers:
    async def test_have_no_gap_and_count_by_the_year_of_issue(self, books: Books) -> None:
        for month in (JANUARY, FEBRUARY):
            await books.issue(month)
        # From noon of 20 April to half past midnight of the New Year in market time: in UTC it is the year before.
        await books.edge.pool.execute("update sandbox_clock set ahead = ahead + interval '255 days 13.5 hours'")
        await books.issue(MARCH)
        assert await books.numbers(books.owner) == {JANUARY: "2028-0001", FEBRUARY: "2028-0002", MARCH: "2029-0001"}

    async def test_are_not_used_by_an_organisation_without_lines(self, books: Books) -> None:
        late = await books.people.new_organisation("Late")
        await books.issue(JANUARY)
        world = books.world(late)
        asset = await world.virtual_asset(5)
        await books.trade(asset, date(2028, 2, 3), 10.0)
        await books.issue(FEBRUARY)
        assert await books.numbers(late) == {FEBRUARY: "2028-0001"}
        assert await books.numbers(books.owner) == {JANUARY: "2028-0001", FEBRUARY: "2028-0002"}


class TestRaces:
    async def test_of_two_runs_one_issues_the_month(self, books: Books) -> None:
        answers = await asyncio.gather(*(books.ask(JANUARY) for _ in range(6)))
        assert sorted(answer.status_code for answer in answers) == [202] + [409] * 5
        refused = {answer.json()["type"].rpartition("/")[2] for answer in answers if answer.status_code == 409}
        assert refused <= {"being-issued", "already-issued"}
        [taken] = [answer for answer in answers if answer.status_code == 202]
        run = taken.json()["id"]
        assert (await books.wait(run))["status"] == "DONE"
        assert (await books.operator.get(taken.headers["Location"])).json()["id"] == run
        assert await books.numbers(books.owner) == {JANUARY: "2028-0001"}

    async def test_a_correction_that_commits_after_the_run_is_not_lost(self, books: Books) -> None:
        """Recorded before the run and committed after it: a later run looks at it again."""
        await books.trade(books.held, date(2028, 1, 10), 80.0)
        world = books.world(books.owner)
        fact = Trade(0, "t", utc(date(2028, 1, 10), 12), "SELL", Fraction(1), Fraction(90))
        kind, row = row_of(fact, books.held)
        async with books.edge.pool.acquire() as db, db.transaction():
            await record_settlements(db, kind, [row], Recorder(world.by, Origin.OPERATOR))
            assert (await books.issue(JANUARY))["status"] == "DONE"
        preliminary = await books.statement(books.traders[0], FEBRUARY)
        assert by_line(preliminary)["CORRECTION"] == 10, "also before it is issued"
        await books.issue(FEBRUARY)
        january, february = [await books.statement(books.traders[0], month) for month in (JANUARY, FEBRUARY)]
        assert by_line(january)["TRADING"] == 80
        assert by_line(february)["CORRECTION"] == 10


async def count_left(books: Books) -> tuple[int, ...]:
    counts = await books.edge.pool.fetchrow(
        """select (select count(*) from statement), (select count(*) from statement_month),
                  (select count(*) from statement_account)"""
    )
    assert counts is not None
    return tuple(counts)


class TestAFailedRun:
    async def test_leaves_nothing_and_uses_no_number(self, books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
        failing = True

        async def fail(db: Any, events: Any) -> None:
            if failing:
                raise RuntimeError("as if the process had been killed")
            await record_events(db, events)

        monkeypatch.setattr(issuing, "record_events", fail)
        run = (await books.ask(JANUARY)).json()["id"]
        await self.wait_for_failure(books)
        assert await count_left(books) == (0, 0, 0)
        assert (await books.operator.get(f"/statements/runs/{run}")).json()["status"] == "RUNNING"
        again = await books.ask(JANUARY)
        assert (again.status_code, again.json()["type"].rpartition("/")[2]) == (409, "being-issued"), (
            "it is tried again"
        )
        assert again.json()["runID"] == run
        failing = False
        await books.edge.pool.execute("update job set not_before = null where kind = $1", issuing.KIND)
        assert (await books.wait(run))["status"] == "DONE"
        assert await books.numbers(books.owner) == {JANUARY: "2028-0001"}

    async def test_whose_connection_is_cut_goes_on_where_it_was(
        self, books: Books, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cut = False

        async def be_cut(db: Any, events: Any) -> None:
            nonlocal cut
            if not cut:
                cut = True
                await db.execute("select pg_terminate_backend(pg_backend_pid())")
            await record_events(db, events)

        monkeypatch.setattr(issuing, "record_events", be_cut)
        run = (await books.ask(JANUARY)).json()["id"]
        async with asyncio.timeout(120):
            while not cut:
                await asyncio.sleep(0.05)
        assert await count_left(books) == (0, 0, 0)
        async with asyncio.timeout(120):
            while (await books.operator.get(f"/statements/runs/{run}")).json()["status"] != "DONE":
                await books.edge.pool.execute("update job set not_before = null where kind = $1", issuing.KIND)
                await asyncio.sleep(0.2)
        assert await books.numbers(books.owner) == {JANUARY: "2028-0001"}

    async def test_that_keeps_failing_says_so_and_blocks_no_other(
        self, books: Books, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail(db: Any, events: Any) -> None:
            raise RuntimeError("always")

        monkeypatch.setattr(issuing, "record_events", fail)
        run = (await books.ask(JANUARY)).json()["id"]
        await self.wait_for_failure(books)
        await books.edge.pool.execute(
            "update job set attempts = $2, not_before = null where kind = $1", issuing.KIND, issuing.MAX_ATTEMPTS
        )
        seen = await books.wait(run)
        assert seen["status"] == "FAILED", seen
        assert "log says why" in seen["fault"]
        assert await books.edge.pool.fetchval("select count(*) from statement_draft") == 0
        monkeypatch.undo()
        await books.issue(JANUARY)
        assert await books.numbers(books.owner) == {JANUARY: "2028-0001"}

    async def test_whose_job_was_given_up_blocks_no_other(self, books: Books) -> None:
        await books.edge.pool.execute(
            """insert into statement_run (id, month, status, allow_missing, asked_by, asked_at)
               values ($1, '2028-01-01', 'RUNNING', true, $1, now())""",
            books.held,
        )
        dead = "insert into job (kind, key, clock, due, state) values ($1, $2, 'real', now(), 'DEAD')"
        await books.edge.pool.execute(dead, issuing.KIND, str(books.held))
        await books.issue(JANUARY)
        given_up = (await books.operator.get(f"/statements/runs/{books.held}")).json()
        assert given_up["status"] == "FAILED"

    async def wait_for_failure(self, books: Books) -> None:
        async with asyncio.timeout(120):
            while not await books.edge.pool.fetchval("select attempts from job where kind = $1", issuing.KIND):
                await asyncio.sleep(0.05)


class TestTheSummary:
    async def test_adds_up_to_zero_on_each_line(self, books: Books) -> None:
        await books.trade(books.held, date(2028, 1, 10), 80.0)
        await books.issue(JANUARY)
        await books.trade(books.held, date(2028, 1, 10), 90.0)
        await books.issue(FEBRUARY)
        answer = (await books.operator.get("/statements/summary")).json()
        assert (answer["months"], answer["balanced"]) == ([JANUARY, FEBRUARY], True)
        assert answer["totals"] == [{"line": line, "amount": 0} for line in ("AUCTION", "CORRECTION", "TRADING")]
        amounts = {(line["line"], line.get("partyName", line["party"])): line["amount"] for line in answer["lines"]}
        assert amounts == {
            ("AUCTION", "Owner"): 120_000,
            ("AUCTION", "Trader 0"): -60_000,
            ("AUCTION", "Trader 1"): -60_000,
            ("CORRECTION", "MARKET"): -10,
            ("CORRECTION", "Trader 0"): 10,
            ("TRADING", "MARKET"): -80,
            ("TRADING", "Trader 0"): 80,
        }
        only = (await books.operator.get("/statements/summary?start=2028-01-31T23:00:00Z")).json()
        assert only["months"] == [FEBRUARY]
        assert {(line["line"], line["amount"]) for line in only["lines"]} == {
            ("AUCTION", 58_000),
            ("AUCTION", -29_000),
            ("CORRECTION", -10),
            ("CORRECTION", 10),
        }, "of that month"
        only = (await books.operator.get("/statements/summary?end=2028-01-31T23:00:00Z")).json()
        assert only["months"] == [JANUARY], "a month starts at its first midnight, which is no part of the one before"
        assert (await books.owner.admin.get("/statements/summary")).status_code == 403


class TestTheSandbox:
    async def test_removes_statements_by_a_reset(self, books: Books) -> None:
        await books.issue(JANUARY)
        assert (await books.operator.post("/sandbox/reset")).status_code in (200, 204)
        assert await count_left(books) == (0, 0, 0)
