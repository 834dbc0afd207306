"""Optimisations, repairs and portfolios over HTTP."""

from __future__ import annotations

import asyncio
import gc
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

import httpx2
import pytest
from tests.optimiser.test_proposals import sent_prices
from tests.virtual_assets.conftest import Battery, MakeBattery, make_battery, new_asset, register, tomorrow, wire

from gridloom.kernel.problem import BadRequest
from gridloom.kernel.shares import Share, ShareExceeded
from gridloom.optimiser.schedules import routes, store
from gridloom.optimiser.schedules.jobs import KIND, solve_optimisation
from gridloom.optimiser.schedules.wire import NewOptimisation, PricesAsked
from gridloom.optimiser.solver_queue import SolverQueue
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import CancelledError
from gridloom.platform.database.clock import real_now
from gridloom.platform.http import Request
from gridloom.platform.http.application import Application
from gridloom.platform.jobs import JobRun

__all__ = ["make_battery"]
QUARTER, WEEK_S = timedelta(minutes=15), 7 * 86_400


async def optimise(battery: Battery, **body: Any) -> httpx2.Response:
    asked = {"prices": sent_prices(battery.start, battery.end, 1), **body}
    return await battery.client.post(f"{battery.url}/optimisations", json=asked)


def earned_eur(schedule: list[dict[str, Any]], prices: dict[str, Any]) -> float:
    """What a schedule earns at prices that were sent along."""
    price_of: dict[str, float] = {one["time"]: one["price"] for one in prices["values"]}
    return sum(float(point["power"]) / 4 / 1000 * price_of[point["time"]] for point in schedule)


class TestAnOptimisation:
    async def test_changes_nothing_and_is_answered_alike_when_it_is_asked_for_again(
        self, make_battery: MakeBattery
    ) -> None:
        """So is a repair."""
        battery = await make_battery()
        before = await battery.read()
        prices = sent_prices(battery.start, battery.end, 1)
        repair = {"schedule": battery.points([100.0, -100.0])["schedule"], "objective": "NEAREST"}
        for path, body in (("optimisations", {"prices": prices}), ("repairs", repair)):
            answers = [
                await battery.client.post(f"{battery.url}/{path}", json=body, headers={"Idempotency-Key": path})
                for _ in range(2)
            ]
            assert [one.status_code for one in answers] == [200, 200], answers[0].text
            assert ["Idempotency-Replayed" in one.headers for one in answers] == [False, True]
            assert answers[0].json() == answers[1].json()
        assert await battery.read() == before

    async def test_leaves_fixed_blocks_as_they_are(self, make_battery: MakeBattery) -> None:
        battery = await make_battery()
        carved = await battery.carve(0, 96, "WHOLESALE", 400, 400)
        kept = carved.json()["id"]
        assert (await battery.put([-300] * 4, 0, f"{battery.url}/blocks/{kept}")).status_code == 200
        found = (await optimise(battery, keep=[kept])).json()
        assert kept not in [block["blockID"] for block in found["blocks"]]
        for block in found["blocks"]:
            applied = await battery.client.put(
                f"{battery.url}/blocks/{block['blockID']}", json={"schedule": block["schedule"]}
            )
            assert applied.status_code == 200, applied.text
        stranger = await optimise(battery, keep=[kept, "0190b0a0-0000-7000-8000-000000000000"])
        assert stranger.status_code == 400
        assert [error["pointer"] for error in stranger.json()["errors"]] == ["/keep/1"]

    async def test_ends_with_its_life_or_with_the_last_price(self, make_battery: MakeBattery) -> None:
        battery = await make_battery()
        for until, last in (
            (battery.start + 100 * QUARTER, battery.start + 99 * QUARTER),
            (battery.end + QUARTER, battery.end - QUARTER),
        ):
            found = await optimise(battery, prices=sent_prices(battery.start, until, 1), endStateOfCharge="FREE")
            assert found.json()["schedule"][-1]["time"] == wire(last), found.text

    async def test_keeps_what_is_stored_after_its_window_feasible(self, make_battery: MakeBattery) -> None:
        battery = await make_battery()
        assert (await battery.put([900] * 4, 100)).status_code == 200  # takes what is there, a day later
        end = battery.start + 48 * QUARTER
        prices = sent_prices(battery.start, end, 4)
        found = await optimise(battery, prices=prices, end=wire(end), endStateOfCharge="FREE")
        assert found.status_code == 200, found.text
        applied = await battery.client.put(f"{battery.url}/schedule", json={"schedule": found.json()["schedule"]})
        assert applied.status_code == 200, applied.text

    async def test_leaves_the_cycles_of_its_day_that_are_scheduled_after_its_window(
        self, make_battery: MakeBattery
    ) -> None:
        battery = await make_battery(dailyCycleLimit=0.3)
        assert (await battery.put([400] * 4, 60)).status_code == 200
        end = battery.start + 48 * QUARTER
        prices = sent_prices(battery.start, end, 4)
        found = await optimise(battery, prices=prices, end=wire(end), endStateOfCharge="FREE")
        assert found.status_code == 200, found.text
        exported_kwh = sum(max(0.0, point["power"]) for point in found.json()["schedule"]) / 4
        limit_kwh = 0.3 * battery.asset["energyCapacity"]
        assert exported_kwh == pytest.approx(limit_kwh - 400, abs=0.01)
        applied = await battery.client.put(f"{battery.url}/schedule", json={"schedule": found.json()["schedule"]})
        assert applied.status_code == 200, applied.text

    async def test_names_what_leaves_no_way(self, make_battery: MakeBattery) -> None:
        battery = await make_battery()
        end = battery.start + QUARTER
        assert (await battery.put([900] * 4, 100)).status_code == 200
        answer = await optimise(battery, prices=sent_prices(battery.start, end, 4), end=wire(end))
        assert answer.status_code == 422
        assert answer.json()["type"].endswith("/no-feasible-schedule")
        assert answer.json()["rule"] == "END_STATE_OF_CHARGE" or answer.json()["rule"].startswith("ENERGY")
        assert answer.json()["firstPeriod"] == wire(battery.start)

    async def test_names_the_first_price_that_is_missing(self, make_battery: MakeBattery) -> None:
        battery = await make_battery()
        prices = sent_prices(battery.start, battery.end, 1)
        del prices["values"][17]
        answer = await optimise(battery, prices=prices, end=battery.asset["end"])
        assert answer.status_code == 422
        assert answer.json()["firstMissingPeriod"] == wire(battery.start + 17 * QUARTER)

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({"prices": {}}, "/prices"),
            ({"prices": {"forecast": True, "series": "DAY_AHEAD_DE_LU"}}, "/prices"),
            ({"prices": {"series": "FCR_DE"}}, "/prices/series"),
            ({"prices": {"series": "MOON"}}, "/prices/series"),
            ({"start": "2030-01-01T00:07:00Z"}, "/start"),
            ({"end": "2030-01-01T00:07:00Z"}, "/end"),
            ({"start": "2030-01-01T01:00:00Z", "end": "2030-01-01T00:00:00Z"}, "/end"),
            ({"start": "2030-01-01T01:00:00Z", "end": "2030-01-01T01:00:00Z"}, "/end"),
            ({"markets": ["MOON"]}, "/markets/0"),
        ],
    )
    async def test_points_at_what_is_wrong(self, make_battery: MakeBattery, body: Any, pointer: str) -> None:
        battery = await make_battery()
        answer = await optimise(battery, **body)
        assert answer.status_code == 400, answer.text
        assert answer.json()["errors"][0]["pointer"] == pointer
        if "prices" in body:
            sent = {**battery.points([0.0]), "objective": "NEAREST", **body}
            answer = await battery.client.post(f"{battery.url}/repairs", json=sent)
            assert answer.json()["errors"][0]["pointer"] == pointer, "of a repair as well"

    async def test_proposes_balancing_blocks_that_can_be_carved(self, make_battery: MakeBattery) -> None:
        battery = await make_battery(energyCapacity=2000)
        first_block = battery.start + timedelta(days=1)
        prices = [
            {"market": market, "start": wire(first_block + timedelta(hours=hours)), "price": 200}
            for market in ("FCR", "AFRR_POS", "AFRR_NEG")
            for hours in range(-48, 48)
        ]
        found = await optimise(battery, markets=["WHOLESALE", "FCR", "AFRR_POS"], capacityPrices=prices)
        assert found.status_code == 200, found.text
        proposed = found.json()["proposedBlocks"]
        assert proposed
        spot_eur = earned_eur(found.json()["schedule"], sent_prices(battery.start, battery.end, 1))
        capacity_eur = sum(block["value"] for block in proposed)
        assert capacity_eur > 0
        assert found.json()["value"] == pytest.approx(spot_eur + capacity_eur)
        assert found.json()["value"] <= found.json()["bound"] + 1e-6
        for block in proposed:
            assert block["value"] == pytest.approx(
                max(block["ratedChargePower"], block["ratedDischargePower"]) / 1000 * 4 * 200
            )
        assert all(
            block["ratedChargePower"] == block["ratedDischargePower"] for block in proposed if block["market"] == "FCR"
        )
        applied = await battery.client.put(f"{battery.url}/schedule", json={"schedule": found.json()["schedule"]})
        assert applied.status_code == 200, applied.text
        for block in proposed:
            carved = await battery.client.post(
                f"{battery.url}/blocks", json={name: block[name] for name in block if name != "value"}
            )
            assert carved.status_code == 201, carved.text

    async def test_of_a_window_that_begins_long_before_the_life_is_made_at_once(
        self, make_battery: MakeBattery
    ) -> None:
        battery = await make_battery()
        answer = await optimise(battery, start=wire(battery.start - timedelta(days=40)), end=battery.asset["end"])
        assert answer.status_code == 200, answer.text

    async def test_of_a_long_window_is_made_by_a_job(
        self, make_battery: MakeBattery, operator: httpx2.AsyncClient
    ) -> None:
        life = {"start": wire(datetime.fromisoformat((await make_battery()).asset["start"]))}
        battery = await make_battery(**life, end=wire(datetime.fromisoformat(life["start"]) + timedelta(days=40)))
        answer = await optimise(battery, end=battery.asset["end"])
        assert answer.status_code == 202, answer.text
        interface = (await battery.client.get("/openapi.json")).json()
        path = "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/optimisations"
        declared = interface["paths"][path]["post"]["responses"]
        assert declared["202"]["content"] == declared["200"]["content"], "what is answered is declared"
        where = answer.headers["location"]
        for _ in range(1200):
            kept = (await battery.client.get(where)).json()
            if kept["status"] not in ("QUEUED", "RUNNING"):
                break
            await asyncio.sleep(0.1)
        assert kept["status"] in ("OPTIMAL", "TIME_LIMIT"), kept
        assert len(kept["schedule"]) == 3840
        assert (await battery.client.get(f"{battery.url}/optimisations/{battery.asset['id']}")).status_code == 404
        body = new_asset([await register(operator, battery.organisation.id)])
        other = (await operator.post(f"/organisations/{battery.organisation.id}/virtual-assets", json=body)).json()
        elsewhere = await battery.client.get(where.replace(battery.asset["id"], other["id"]))
        assert elsewhere.status_code == 404, "it is of another asset"

    async def test_made_by_a_job_may_be_refused_and_says_why(self, app: Application, make_battery: MakeBattery) -> None:
        """Also by the second attempt of the job."""
        battery, id = await make_battery(), uuid4()
        organisation, asset = UUID(str(battery.organisation.id)), UUID(battery.asset["id"])
        where = f"{battery.url}/optimisations/{id}"
        payload = {"organisationID": str(organisation), "virtualAssetID": str(asset)}
        body = NewOptimisation(prices=PricesAsked(values=[]))
        async with app.pool.acquire() as db:
            now = await real_now(db)
            await store.insert_optimisation(db, organisation, id, asset, asset, now, body)
            assert (await battery.client.get(where)).json() == {"id": str(id), "status": "QUEUED"}
            async with db.transaction():
                await solve_optimisation(JobRun(db=db, kind=KIND, key=str(id), payload=payload, due=now, attempt=2))
            other, gone = uuid4(), uuid4()
            for one, of in ((other, asset), (gone, gone)):
                await store.insert_optimisation(db, organisation, one, of, asset, now, body)
            payload = {"organisationID": str(organisation), "virtualAssetID": str(gone)}
            async with db.transaction():
                await solve_optimisation(JobRun(db=db, kind=KIND, key=str(gone), payload=payload, due=now, attempt=1))
            removed = await store.read_optimisation(db, organisation, gone, gone)
            assert removed is not None
            assert (removed.status, removed.answer["problem"]["status"]) == ("FAILED", 404), (
                "of an asset that is no more"
            )
            waiting = await store.read_optimisation(db, organisation, asset, other)
            assert waiting is not None
            assert (waiting.status, waiting.answer) == ("QUEUED", None), "the others are as they were"
        refused = (await battery.client.get(where)).json()
        assert (refused["id"], refused["status"]) == (str(id), "FAILED")
        assert refused["problem"]["type"].endswith("/prices-missing")
        assert refused["problem"]["firstMissingPeriod"] == wire(battery.start)

    async def test_of_a_long_window_counts_among_the_jobs_of_its_organisation(
        self, app: Application, make_battery: MakeBattery, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def refuse(request: Request, db: Any) -> None:
            raise ShareExceeded(Share.JOBS, 0, "Your organisation has 0 jobs waiting.", 1)

        monkeypatch.setattr(routes, "admit_job", refuse)
        battery = await make_battery()
        end = wire(datetime.fromisoformat(battery.asset["start"]) + timedelta(days=40))
        battery = await make_battery(start=battery.asset["start"], end=end)
        refused = await optimise(battery, end=end)
        assert (refused.status_code, refused.json().get("share")) == (429, "jobs")
        kept = await app.pool.fetchval("select count(*) from optimisation where subject_id = $1", battery.asset["id"])
        assert kept == 0


class TestARepair:
    async def test_makes_of_an_impossible_schedule_one_that_is_taken_and_balanced(
        self, make_battery: MakeBattery
    ) -> None:
        battery = await make_battery()
        sent = battery.points([900.0] * 40 + [-2000.0] * 20)
        refused = await battery.client.put(f"{battery.url}/schedule", json=sent)
        assert refused.status_code == 422
        assert refused.json()["repair"] == f"{battery.url}/repairs"
        answer = await battery.client.post(refused.json()["repair"], json={**sent, "objective": "NEAREST"})
        assert answer.status_code == 200, answer.text
        repaired = answer.json()
        assert len(repaired["schedule"]) == 60
        assert repaired["moved"]
        apart_kw = [abs(one["asked"] - one["power"]) for one in repaired["moved"]]
        assert repaired["movedEnergy"] == pytest.approx(sum(apart_kw) / 4, abs=0.1)
        assert repaired["movedEnergy"] > 0
        unchanged = {"If-Match": answer.headers["etag"]}
        body = {"schedule": repaired["schedule"]}
        applied = await battery.client.put(f"{battery.url}/schedule", json=body, headers=unchanged)
        assert applied.status_code == 200, applied.text
        assert applied.json()["imbalance"]["balanced"]
        end = applied.json()["imbalance"]["endStateOfChargePercentage"]
        assert repaired["endStateOfChargePercentage"] == pytest.approx(end, abs=0.01)

    async def test_for_the_best_value_earns_at_least_as_much_as_the_nearest(self, make_battery: MakeBattery) -> None:
        battery = await make_battery()
        body = {**battery.points([500.0] * 60), "prices": sent_prices(battery.start, battery.end, 3)}
        values = []
        for objective in ("NEAREST", "BEST_VALUE"):
            answer = await battery.client.post(f"{battery.url}/repairs", json={**body, "objective": objective})
            assert answer.status_code == 200, answer.text
            values.append(answer.json()["value"])
            assert values[-1] == pytest.approx(earned_eur(answer.json()["schedule"], body["prices"]))
            put = await battery.client.put(f"{battery.url}/schedule", json={"schedule": answer.json()["schedule"]})
            assert put.status_code == 200, put.text
        assert values[0] <= values[1]

    async def test_leaves_the_periods_between_those_that_were_sent_as_they_stand(
        self, make_battery: MakeBattery
    ) -> None:
        """However dear they are: what is stored in the first hours can only be sold in the last."""
        battery = await make_battery()
        sent = [*battery.points([0.0] * 8)["schedule"], *battery.points([0.0] * 8, 16)["schedule"]]
        prices = [10.0] * 8 + [900.0] * 8 + [50.0] * 8
        values = [{"time": wire(battery.start + n * QUARTER), "price": price} for n, price in enumerate(prices)]
        body = {"schedule": sent, "objective": "BEST_VALUE", "prices": {"values": values}}
        answer = await battery.client.post(f"{battery.url}/repairs", json=body)
        assert answer.status_code == 200, answer.text
        repaired = answer.json()["schedule"]
        assert [point["time"] for point in repaired] == [point["time"] for point in sent]
        assert min(point["power"] for point in repaired[:8]) < 0 < max(point["power"] for point in repaired[8:])
        applied = await battery.client.put(f"{battery.url}/schedule", json={"schedule": repaired})
        assert applied.status_code == 200, applied.text
        assert applied.json()["imbalance"]["balanced"]

    async def test_needs_prices_for_the_best_value_alone(self, make_battery: MakeBattery) -> None:
        """No forecast reaches as far as this life."""
        start = tomorrow() + timedelta(days=200)
        battery = await make_battery(start=wire(start), end=wire(start + timedelta(days=1)))
        sent = battery.points([100.0, -100.0])
        for asked, status in (
            ({"objective": "NEAREST"}, 200),
            ({"objective": "NEAREST", "prices": {"series": "DAY_AHEAD_DE_LU"}}, 422),
            ({"objective": "BEST_VALUE"}, 422),
        ):
            answer = await battery.client.post(f"{battery.url}/repairs", json={**sent, **asked})
            assert answer.status_code == status, answer.text
            assert "value" not in answer.json()
            assert status == 200 or answer.json()["type"].endswith("/prices-missing")

    async def test_is_refused_where_the_gate_of_its_first_period_is_closed(self, make_battery: MakeBattery) -> None:
        battery = await make_battery(dispatchGateClosureSeconds=WEEK_S)
        sent = battery.points([1.0, 2.0])["schedule"]
        body = {"schedule": sent[::-1], "objective": "NEAREST"}
        answer = await battery.client.post(f"{battery.url}/repairs", json=body)
        assert (answer.status_code, answer.json()["type"]) == (409, "/docs/problems/gate-closed")
        assert answer.json()["errors"][0]["pointer"] == "/schedule/1/time"


class TestAPortfolio:
    async def test_stays_within_what_its_assets_share(self, make_battery: MakeBattery) -> None:
        battery = await make_battery()
        portfolio = await battery.organisation.admin.post(
            f"/organisations/{battery.organisation.id}/portfolios",
            json={"name": "All", "virtualAssetIDs": [battery.asset["id"]]},
        )
        assert portfolio.status_code == 201, portfolio.text
        answer = await battery.client.post(
            f"/organisations/{battery.organisation.id}/portfolios/{portfolio.json()['id']}/optimisations",
            json={"prices": sent_prices(battery.start, battery.end, 9), "importLimit": 300, "exportLimit": 200},
            headers={"Idempotency-Key": "portfolio"},
        )
        assert answer.status_code == 200, answer.text
        [asset] = answer.json()["assets"]
        assert asset["value"] == pytest.approx(
            earned_eur(asset["schedule"], sent_prices(battery.start, battery.end, 9))
        )
        powers = [point["power"] for point in asset["schedule"]]
        assert max(powers) <= 200.001
        assert min(powers) >= -300.001
        applied = await battery.client.put(f"{battery.url}/schedule", json={"schedule": asset["schedule"]})
        assert applied.status_code == 200, applied.text

    async def test_plans_each_asset_to_its_end_but_none_that_starts_where_the_window_ends(
        self, make_battery: MakeBattery, operator: httpx2.AsyncClient
    ) -> None:
        battery = await make_battery()
        organisation = battery.organisation
        later = new_asset(
            [await register(operator, organisation.id)],
            start=wire(battery.start + timedelta(days=1)),
            end=wire(battery.end + timedelta(hours=6)),
        )
        made = await operator.post(f"/organisations/{organisation.id}/virtual-assets", json=later)
        assert made.status_code == 201, made.text
        ids = [battery.asset["id"], made.json()["id"]]
        path = f"/organisations/{organisation.id}/portfolios"
        portfolio = (await organisation.admin.post(path, json={"name": "All", "virtualAssetIDs": ids})).json()
        for end, expected in ((later["start"], ids[:1]), (wire(battery.start + timedelta(days=1) + QUARTER), ids)):
            prices = sent_prices(battery.start, datetime.fromisoformat(end), 9)
            answer = await battery.client.post(
                f"{path}/{portfolio['id']}/optimisations",
                json={"prices": prices, "end": end, "endStateOfCharge": "FREE"},
            )
            assert answer.status_code == 200, answer.text
            assert [one["virtualAssetID"] for one in answer.json()["assets"]] == expected
        prices = sent_prices(battery.start, battery.end + timedelta(hours=6), 9)
        answer = await battery.client.post(f"{path}/{portfolio['id']}/optimisations", json={"prices": prices})
        assert answer.status_code == 200, answer.text
        values = [earned_eur(one["schedule"], prices) for one in answer.json()["assets"]]
        assert [one["value"] for one in answer.json()["assets"]] == pytest.approx(values)
        assert answer.json()["value"] == pytest.approx(sum(values))
        assert (answer.json()["status"], answer.json()["gap"]) == ("OPTIMAL", pytest.approx(0, abs=1e-6))
        assert answer.json()["bound"] == pytest.approx(answer.json()["value"], rel=1e-6)
        ends = [one["schedule"][-1]["time"] for one in answer.json()["assets"]]
        assert ends == [wire(battery.end - QUARTER), wire(battery.end + timedelta(hours=6) - QUARTER)]

    async def test_plans_those_that_live_in_its_window_and_have_a_gate_open_as_far_as_prices_go(
        self, make_battery: MakeBattery, operator: httpx2.AsyncClient
    ) -> None:
        """One lives two days from tomorrow on, another a day later; the gates of the third are all closed."""
        battery = await make_battery()
        names, owner = {battery.asset["id"]: "long"}, f"/organisations/{battery.organisation.id}"
        for name, first, changes in (("later", 96, {}), ("closed", 0, {"dispatchGateClosureSeconds": WEEK_S})):
            life = {
                "start": wire(battery.start + first * QUARTER),
                "end": wire(battery.start + (first + 192) * QUARTER),
            }
            body = new_asset([await register(operator, battery.organisation.id)], **life, **changes)
            names[(await operator.post(f"{owner}/virtual-assets", json=body)).json()["id"]] = name

        async def plan(ids: list[str], priced_until: int, start: int | None) -> httpx2.Response:
            all_of_them = {"name": f"{len(ids)} until {priced_until} from {start}", "virtualAssetIDs": ids}
            made = await battery.organisation.admin.post(f"{owner}/portfolios", json=all_of_them)
            prices = sent_prices(battery.start, battery.start + priced_until * QUARTER, 9)
            body = {"prices": prices, "endStateOfCharge": "FREE"}
            body |= {} if start is None else {"start": wire(battery.start + start * QUARTER)}
            return await battery.client.post(f"{owner}/portfolios/{made.json()['id']}/optimisations", json=body)

        for priced_until, start, expected in (
            (288, None, {"long": (0, 192), "later": (96, 288)}),
            (96, None, {"long": (0, 96)}),
            (97, None, {"long": (0, 97), "later": (96, 97)}),
            (288, 191, {"long": (191, 192), "later": (191, 288)}),
            (288, 192, {"later": (192, 288)}),
        ):
            answer = await plan(list(names), priced_until, start)
            found = {
                names[one["virtualAssetID"]]: tuple(
                    (datetime.fromisoformat(one["schedule"][place]["time"]) - battery.start) // QUARTER - place
                    for place in (0, -1)
                )
                for one in answer.json()["assets"]
            }
            assert found == expected, (priced_until, start)
        [closed] = [id for id, name in names.items() if name == "closed"]
        for ids, start, status, problem in (
            (list(names), 288, 400, "bad-request"),
            ([closed], None, 409, "gate-closed"),
        ):
            refused = await plan(ids, 300, start)
            assert (refused.status_code, refused.json()["type"]) == (status, f"/docs/problems/{problem}")


class TestTheSolver:
    async def test_counts_as_long_what_has_more_than_two_days_of_quarter_hours(
        self, make_battery: MakeBattery, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whatever is asked for: an asset's schedule, its repair, or those of a portfolio."""
        noted: list[bool] = []

        async def note(queue: SolverQueue, request: Request, work: Any, *, is_long: bool = False) -> None:
            noted.append(is_long)
            raise BadRequest("noted")

        monkeypatch.setattr(SolverQueue, "run", note)
        life = {"start": wire(datetime.fromisoformat((await make_battery()).asset["start"]))}
        battery = await make_battery(**life, end=wire(datetime.fromisoformat(life["start"]) + timedelta(days=3)))
        portfolios = f"/organisations/{battery.organisation.id}/portfolios"
        both = {"name": "All", "virtualAssetIDs": [battery.asset["id"]]}
        portfolio = (await battery.organisation.admin.post(portfolios, json=both)).json()["id"]
        for count in (200, 201):
            window = {"prices": {"forecast": True}, "end": wire(battery.start + count * QUARTER)}
            await battery.client.post(f"{battery.url}/optimisations", json=window)
            await battery.client.post(f"{portfolios}/{portfolio}/optimisations", json=window)
            sent = {**battery.points([0.0] * count), "objective": "NEAREST"}
            await battery.client.post(f"{battery.url}/repairs", json=sent)
        assert noted == [False] * 3 + [True] * 3

    async def test_stops_work_that_is_cancelled(self, app: Application) -> None:
        queue, seen, request = app.resources[SolverQueue], asyncio.Event(), call_of(app, uuid4())
        loop = asyncio.get_running_loop()

        def spin(deadline: Deadline) -> None:
            loop.call_soon_threadsafe(seen.set)
            while not deadline.stopped:
                pass
            raise CancelledError

        logged: list[dict[str, Any]] = []
        before = loop.get_exception_handler()
        loop.set_exception_handler(lambda _, context: logged.append(context))
        try:
            task = asyncio.create_task(queue.run(request, lambda turn: turn.solve(spin)))
            await seen.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await queue.run(request, lambda turn: turn.solve(lambda deadline: 7)) == 7
            del task
            gc.collect()
        finally:
            loop.set_exception_handler(before)
        assert [one for one in logged if isinstance(one.get("exception"), CancelledError)] == []

    async def test_stops_when_the_caller_closes_the_connection(self, app: Application) -> None:
        queue, seen, stopped = app.resources[SolverQueue], asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def spin(deadline: Deadline) -> None:
            loop.call_soon_threadsafe(seen.set)
            while not deadline.stopped:
                pass
            loop.call_soon_threadsafe(stopped.set)

        async def leave() -> Any:
            await seen.wait()
            return {"type": "http.disconnect"}

        request = call_of(app, uuid4())
        request.receive = leave
        with pytest.raises(BadRequest):
            await queue.run(request, lambda turn: turn.solve(spin))
        await asyncio.wait_for(stopped.wait(), 120)
        assert queue.queue.count_running(request.holder) == 0


def call_of(app: Application, organisation_id: UUID) -> Request:
    """A request of an organisation, as far as the solver's queue looks at it."""
    request: Any = Request.__new__(Request)
    request.receive, request.shares = None, app.shares
    request.set_caller(SimpleNamespace(organisation_id=organisation_id, username="trader"))
    return cast(Request, request)
