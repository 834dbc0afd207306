"""Revenue reporting over HTTP: shapes, formats, who may read, what is refused."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any
from uuid import UUID

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.revenue.reference import FCR, AFRRCapacity, Auction, Toll, Trade, utc
from tests.revenue.world import World

from gridloom.revenue.categories import CATEGORIES
from gridloom.settlements import as_of as settlements_as_of

DAY = date(2026, 3, 29)
WINDOW = {"start": "2026-03-28T23:00:00Z", "end": "2026-03-29T22:00:00Z"}
ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"


@dataclass
class Scene:
    """One organisation with a virtual asset in a portfolio, backed by a physical one in a fleet."""

    owner: Any
    world: World
    virtual: UUID
    physical: UUID
    portfolio: UUID
    fleet: UUID

    @property
    def paths(self) -> list[str]:
        return [
            f"/revenue-reporting/virtual-assets/{self.virtual}/data-points",
            f"/revenue-reporting/portfolios/{self.portfolio}/data-points",
            f"/revenue-reporting/fleets/{self.fleet}/data-points",
            f"/revenue-reporting/physical-assets/{self.physical}/data-points",
            f"/revenue-reporting/organisations/{self.owner.id}/data-points",
        ]

    @property
    def bucket_paths(self) -> list[str]:
        kinds = ("wholesale", "ancillary", "tolling", "virtual-battery-auction")
        return [f"/revenue-reporting/{self.virtual}/{kind}" for kind in kinds]


@pytest.fixture(scope="module")
async def scene(world: World, new_organisation: Any) -> Scene:
    owner = await new_organisation()
    own = World(world.pool, owner.id)
    portfolio, fleet = await own.portfolio(), await own.fleet()
    virtual = await own.virtual_asset(10, portfolio_id=portfolio)
    physical = await own.physical_asset(20, fleet_id=fleet)
    await own.back(virtual, physical, 0.5)
    await own.record_facts(
        [
            Trade(0, "a", utc(DAY, 0), "SELL", Fraction(8), Fraction("66.86")),
            Trade(0, "b", utc(DAY, 0), "BUY", Fraction(2), Fraction("-10")),
            FCR(0, DAY, "NEGPOS_00_04", Fraction(7), Fraction("22.286667"), Fraction(3)),
            AFRRCapacity(0, DAY, "POS_04_08", Fraction(5), Fraction(4), Fraction(4)),
            Toll(0, "c", utc(date(2026, 1, 1), 0), utc(date(2027, 1, 1), 0), Fraction(87_600)),
            Auction(0, utc(DAY, 0), utc(DAY, 24), Fraction(2300), Fraction(1000)),
        ],
        [virtual],
    )
    return Scene(owner, own, virtual, physical, portfolio, fleet)


class TestDataPoints:
    async def test_are_as_many_as_the_market_day_has_periods(self, scene: Scene) -> None:
        for resolution, count in (("15-minute", 92), ("hourly", 23), ("daily", 1)):
            answer = await scene.owner.admin.get(
                scene.paths[0], params={**WINDOW, "resolution": resolution, "datapoints": "revenue_fcr"}
            )
            assert len(answer.json()["data"]["revenue_fcr"]) == count

    async def test_raw_are_the_facts_own_periods(self, scene: Scene) -> None:
        names = "revenue_wholesale,revenue_fcr,revenue_afrr_capacity,revenue_tolling,revenue_vba"
        answer = await scene.owner.admin.get(
            scene.paths[0], params={**WINDOW, "resolution": "raw", "datapoints": names}
        )
        times = {name: [point["time"] for point in points] for name, points in answer.json()["data"].items()}
        assert times == {
            "revenue_wholesale": ["2026-03-28T23:00:00Z"],
            "revenue_fcr": ["2026-03-28T23:00:00Z"],
            "revenue_afrr_capacity": ["2026-03-29T02:00:00Z"],
            "revenue_tolling": ["2025-12-31T23:00:00Z"],
            "revenue_vba": ["2026-03-28T23:00:00Z"],
        }

    async def test_are_the_same_in_every_format(self, scene: Scene) -> None:
        query = {**WINDOW, "resolution": "hourly", "datapoints": "revenue_fcr,capacity_fcr,revenue_tolling"}
        points = (await scene.owner.admin.get(scene.paths[0], params=query)).json()["data"]
        expected = {name: [point["value"] for point in points[name]] for name in points}
        times = [datetime.fromisoformat(point["time"]) for point in points["revenue_fcr"]]

        async def content(media_type: str) -> bytes:
            answer = await scene.owner.admin.get(scene.paths[0], params=query, headers={"Accept": media_type})
            assert answer.status_code == 200
            assert answer.headers["Content-Type"] == media_type
            return bytes(answer.content)

        arrow = pa.ipc.open_stream(await content(ARROW)).read_all()
        parquet = pq.read_table(io.BytesIO(await content(PARQUET)))
        for table in (arrow, parquet):
            assert table.column_names == ["time", "revenue_fcr", "capacity_fcr", "revenue_tolling"]
            assert table["time"].to_pylist() == times
            for name, values in expected.items():
                assert table[name].to_pylist() == values
        rows = list(csv.DictReader(io.StringIO((await content("text/csv")).decode())))
        assert [datetime.fromisoformat(row["time"]) for row in rows] == times
        for name, values in expected.items():
            assert [float(row[name]) if row[name] else None for row in rows] == values

    async def test_stream_a_long_report_in_parts(self, scene: Scene) -> None:
        query = {"start": "2024-01-01T00:07:00Z", "end": "2027-01-01T00:00:00Z", "resolution": "15-minute"}
        answer = await scene.owner.admin.get(
            scene.paths[0], params={**query, "datapoints": "revenue_total_revenue"}, headers={"Accept": ARROW}
        )
        table = pa.ipc.open_stream(answer.content).read_all()
        times = table["time"].to_numpy()
        assert len(times) == (datetime(2027, 1, 1, tzinfo=UTC) - datetime(2024, 1, 1, tzinfo=UTC)) // timedelta(
            minutes=15
        )
        assert set((times[1:] - times[:-1]).astype("timedelta64[s]").astype(int).tolist()) == {900}

    @pytest.mark.parametrize(
        "change",
        [
            {"start": "2026-03-28T23:00:00"},
            {"end": "2026-03-28T23:00:00Z"},
            {"resolution": "1-minute"},
            {"resolution": "weekly"},
            {"datapoints": "revenue_fcr,revenue_luck"},
            {"datapoints": ""},
            {"as-of": "never"},
            {"as-of": "2090-01-01T00:00:00Z"},
            {"start": "1999-01-01T00:00:00Z", "end": "1999-02-01T00:00:00Z"},
            {"start": "2100-12-01T00:00:00Z", "end": "2101-01-01T00:00:00Z"},
            {"colour": "red"},
        ],
    )
    async def test_refuse_a_bad_query(self, scene: Scene, change: dict[str, str]) -> None:
        for path in (*scene.bucket_paths, *scene.paths):
            answer = await scene.owner.admin.get(path, params={**WINDOW, **change})
            assert answer.status_code == 400, answer.text
        if "revenue_luck" in change.get("datapoints", ""):
            assert "revenue_luck" in answer.json()["detail"]

    async def test_need_a_window(self, scene: Scene) -> None:
        assert (await scene.owner.admin.get(scene.paths[0])).status_code == 400


class TestOrganisation:
    async def test_counts_each_fact_once_and_the_power_of_batteries_only_where_they_back_none_of_its_own(
        self, scene: Scene, new_organisation: Any
    ) -> None:
        holder = await new_organisation()
        theirs = World(scene.world.pool, holder.id)
        own, other = await theirs.virtual_asset(4), await scene.world.virtual_asset(6)
        spare, behind = await theirs.physical_asset(20), await theirs.physical_asset(30)
        third = await theirs.physical_asset(10)
        await theirs.back(own, behind, 1.0)
        await theirs.back(other, spare, 0.25)
        await theirs.back(other, third, 0.5)
        block = FCR(0, DAY, "NEGPOS_00_04", Fraction(4), Fraction(10), Fraction(3))
        await theirs.record_facts([block], [other])
        for asset, price in ((own, 40), (other, 80), (spare, 20)):
            await theirs.record_facts([Trade(0, "t", utc(DAY, 0), "SELL", Fraction(1), Fraction(price))], [asset])
        answer = await holder.viewer.get(
            f"/revenue-reporting/organisations/{holder.id}/data-points",
            params={
                **WINDOW,
                "resolution": "daily",
                "datapoints": "revenue_wholesale,revenue_normalised_wholesale,revenue_fcr,delivery_hours_fcr",
            },
        )
        found = {name: points[0]["value"] for name, points in answer.json()["data"].items()}
        assert found == {
            "revenue_wholesale": pytest.approx(40 + 80 * 0.75 + 20),
            "revenue_normalised_wholesale": pytest.approx(120 / (4 + 20 + 10)),
            "revenue_fcr": pytest.approx(4 * 10 * 3 * 0.75),
            "delivery_hours_fcr": pytest.approx(3),
        }, "with the shares of both batteries behind another's, whose hours are hours once"

    async def test_of_nothing_is_zero(self, new_organisation: Any) -> None:
        nobody = await new_organisation()
        path = f"/revenue-reporting/organisations/{nobody.id}"
        for resolution in ("daily", "hourly", "raw"):
            answer = await nobody.viewer.get(f"{path}/data-points", params={**WINDOW, "resolution": resolution})
            assert answer.status_code == 200, answer.text
        statement = await nobody.viewer.get(f"{path}/statement", params=WINDOW)
        assert (statement.json()["lines"], statement.json()["total"]) == ([], 0)

    async def test_is_read_by_itself_and_the_operator(self, scene: Scene, people: Any, new_organisation: Any) -> None:
        stranger = await new_organisation()
        for path in ("data-points", "statement"):
            address = f"/revenue-reporting/organisations/{scene.owner.id}/{path}"
            assert (await scene.owner.viewer.get(address, params=WINDOW)).status_code == 200
            assert (await stranger.admin.get(address, params=WINDOW)).status_code == 403
            missing = f"/revenue-reporting/organisations/{scene.virtual}/{path}"
            assert (await stranger.admin.get(missing, params=WINDOW)).status_code in (403, 404)


class TestReach:
    async def test_ends_at_the_organisation(self, scene: Scene, new_organisation: Any) -> None:
        stranger = await new_organisation()
        for path in (*scene.paths, *scene.bucket_paths):
            assert (await stranger.admin.get(path, params=WINDOW)).status_code == 403, path
            assert (await scene.owner.engineer.get(path, params=WINDOW)).status_code == 403, path

    async def test_of_the_operator_holds_for_all_data_points_and_statements(
        self, scene: Scene, operator: httpx2.AsyncClient
    ) -> None:
        paths = [*scene.paths, *(path.replace("/data-points", "/statement") for path in scene.paths)]
        assert {path: (await operator.get(path, params=WINDOW)).status_code for path in paths} == dict.fromkeys(
            paths, 200
        )

    async def test_can_be_granted(self, scene: Scene, new_organisation: Any) -> None:
        for permission, expected in (
            ("Read:revenue", [403, 403, 200, 200, 403]),
            ("Read:schedules", [403] * 5),
        ):
            friend = await new_organisation()
            await scene.world.pool.execute(
                "insert into asset_grant (asset_key, organisation_id, permissions, granted_by) values ($1, $2, $3, $4)",
                await scene.world.key_of(scene.physical),
                friend.id,
                [permission],
                scene.world.by,
            )
            statuses = [(await friend.admin.get(path, params=WINDOW)).status_code for path in scene.paths]
            assert statuses == expected, permission

    async def test_of_a_fleet_needs_a_grant_on_each_of_its_batteries(self, scene: Scene, new_organisation: Any) -> None:
        """Be it the first of them or the last, and whoever is granted the others."""
        fleet = await scene.world.fleet()
        batteries = [await scene.world.physical_asset(fleet_id=fleet) for _ in range(3)]
        friend, other = [await new_organisation() for _ in range(2)]

        async def grant(battery: UUID, to: Any, permission: str = "Read:revenue") -> None:
            await scene.world.pool.execute(
                """insert into asset_grant (asset_key, organisation_id, permissions, granted_by) values ($1, $2, $3, $4)
                   on conflict (asset_key, organisation_id) do update set permissions = excluded.permissions""",
                await scene.world.key_of(battery),
                to.id,
                [permission],
                scene.world.by,
            )

        async def read() -> set[int]:
            path = f"/revenue-reporting/fleets/{fleet}"
            kinds = ("data-points", "statement")
            return {(await friend.viewer.get(f"{path}/{kind}", params=WINDOW)).status_code for kind in kinds}

        for battery in (batteries[0], batteries[2]):
            await grant(battery, friend)
            assert await read() == {403}
        await grant(batteries[1], other)
        await grant(batteries[1], friend, "Read:monitoring")
        assert await read() == {403}
        await grant(batteries[1], friend)
        assert await read() == {200}
        nothing = await scene.world.fleet()
        empty = await friend.viewer.get(f"/revenue-reporting/fleets/{nothing}/data-points", params=WINDOW)
        assert empty.status_code == 403, "a fleet of nothing is its owner's"

    async def test_finds_nothing_that_does_not_exist(self, scene: Scene) -> None:
        unknown = "0198f0a4-5b6c-7d8e-9f00-112233445566"
        for kind in ("virtual-assets", "portfolios", "fleets", "physical-assets"):
            path = f"/revenue-reporting/{kind}/{{}}/data-points"
            assert (await scene.owner.admin.get(path.format(unknown), params=WINDOW)).status_code == 404
            assert (await scene.owner.admin.get(path.format("x"), params=WINDOW)).status_code == 400
        swapped = f"/revenue-reporting/virtual-assets/{scene.physical}/data-points"
        assert (await scene.owner.admin.get(swapped, params=WINDOW)).status_code == 404


class TestBuckets:
    async def test_are_not_too_many(self, scene: Scene) -> None:
        query = {"start": "2024-01-01T00:00:00Z", "end": "2026-01-01T00:00:00Z", "resolution": "15-minute"}
        statement = f"/revenue-reporting/virtual-assets/{scene.virtual}/statement"
        for path in (scene.bucket_paths[0], statement):
            assert (await scene.owner.admin.get(path, params=query)).status_code == 400, path


class TestAsOf:
    async def test_shows_the_figures_before_a_correction(self, scene: Scene, operator: httpx2.AsyncClient) -> None:
        virtual = await scene.world.virtual_asset()
        row = {"assetID": str(virtual), "deliveryDay": "2026-03-29", "product": "NEGPOS_00_04"}
        before = {**row, "capacity": 1, "settlementPrice": 10}
        await operator.post("/settlements/fcr", json=[before])
        listed = (await operator.get("/settlements/fcr", params={"asset-id": str(virtual)})).json()
        await operator.post("/settlements/fcr", json=[{**before, "capacity": 5}])
        path = f"/revenue-reporting/virtual-assets/{virtual}/data-points"
        for query, expected in (({}, 150), ({"as-of": listed[0]["recordedAt"]}, 30), ({"as-of": WINDOW["start"]}, 0)):
            for resolution in ("daily", "15-minute", "raw"):
                answer = await scene.owner.admin.get(path, params={**WINDOW, "resolution": resolution, **query})
                points = answer.json()["data"]["revenue_fcr"]
                assert sum(point["value"] for point in points) == pytest.approx(expected)
            buckets = await scene.owner.admin.get(f"/revenue-reporting/{virtual}/ancillary", params={**WINDOW, **query})
            assert buckets.json()["revenue"] == pytest.approx(expected)

    async def test_shows_statements_before_a_correction(
        self, new_organisation: Any, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        owner = await new_organisation()
        own = World(world.pool, owner.id)
        portfolio, fleet = await own.portfolio(), await own.fleet()
        assets = {
            "virtual-assets": await own.virtual_asset(portfolio_id=portfolio),
            "physical-assets": await own.physical_asset(fleet_id=fleet),
        }
        subjects = {**assets, "portfolios": portfolio, "fleets": fleet, "organisations": owner.id}
        for factor in (1, 5):
            facts = [FCR(n, DAY, "NEGPOS_04_08", Fraction(1), Fraction(10 * factor + n), Fraction(4)) for n in range(2)]
            await own.record_facts(facts, [*assets.values()])
            if factor == 1:
                known = await world.pool.fetchval("select date_trunc('milliseconds', platform_now())")
                await world.pool.execute("select pg_sleep(0.002)")
        as_of = {"as-of": known.isoformat()}

        async def read(kind: str, **more: str) -> httpx2.Response:
            path = f"/revenue-reporting/{kind}/{subjects[kind]}/statement"
            answer: httpx2.Response = await owner.admin.get(path, params={**WINDOW, **more})
            return answer

        virtual, physical = [200, 40], [204, 44]
        for kind, expected in (
            ("virtual-assets", virtual),
            ("physical-assets", physical),
            ("portfolios", virtual),
            ("fleets", physical),
            ("organisations", [404, 84]),
        ):
            totals = [answer.json()["total"] for answer in (await read(kind), await read(kind, **as_of))]
            assert totals == expected, kind

        async def read_version_start(db: Any, whats: Any) -> tuple[datetime, datetime | None]:
            return known + timedelta(hours=1), known + timedelta(minutes=1) if what in whats else None

        monkeypatch.setattr(settlements_as_of, "read_version_start", read_version_start)
        for what in (settlements_as_of.PRICES, settlements_as_of.MEASURED):
            refused = await read("physical-assets", **as_of)
            assert (refused.status_code, refused.json()["type"]) == (422, "/docs/problems/as-of-too-early"), what


class TestOpenAPI:
    async def test_lists_the_categories(self, anonymous: httpx2.AsyncClient) -> None:
        described = json.loads((await anonymous.get("/openapi.json")).content)
        for kind, name in (
            ("virtual-assets", "virtualAssetID"),
            ("portfolios", "portfolioID"),
            ("fleets", "fleetID"),
            ("physical-assets", "physicalAssetID"),
        ):
            read = described["paths"][f"/revenue-reporting/{kind}/{{{name}}}/data-points"]["get"]
            shared = described["components"]["parameters"]
            parameters = [shared[p["$ref"].rsplit("/", 1)[-1]] if "$ref" in p else p for p in read["parameters"]]
            (names,) = [p["schema"] for p in parameters if p["name"] == "datapoints"]
            assert names["items"]["enum"] == sorted(CATEGORIES)


class TestAReportByParts:
    async def test_of_a_distributed_database_says_the_same(self, scene: Scene, by_parts: Any) -> None:
        for path in (*scene.paths, *scene.bucket_paths):
            for more in ({}, {"as-of": "2026-11-16T00:00:00Z"}):
                query = {**WINDOW, "resolution": "daily", **more}
                whole = await scene.owner.admin.get(path, params=query)
                with by_parts():
                    parted = await scene.owner.admin.get(path, params=query)
                assert (whole.status_code, parted.status_code) == (200, 200), whole.text
                assert parted.json() == whole.json(), path
