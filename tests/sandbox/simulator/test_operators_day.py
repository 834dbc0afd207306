"""What the simulated operator asks of the platform: auctions, tolls and published prices, each request as a whole."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.sandbox.simulator.recorded import Session, refusal

from gridloom.sandbox.simulator import publishing
from gridloom.sandbox.simulator.market.calendar import periods_of
from gridloom.sandbox.simulator.market.intraday import IntradayAuction
from gridloom.sandbox.simulator.participants import operator
from gridloom.sandbox.simulator.participants.strategies import USUAL
from gridloom.sandbox.simulator.scenario import BATTERIES, ORGANISATIONS
from gridloom.sandbox.simulator.state import OpenAuction, SimulatedHolding, SimulatorState

pytestmark = pytest.mark.pure

TODAY = date(2026, 10, 23)
"""Two days before one of 25 hours."""
STEP = datetime(2026, 10, 23, 7, 45, tzinfo=UTC)
SIZES = {"50Hertz": (62_000, 124_000), "Amprion": (50_000, 100_000), "TenneT": (62_000, 124_000)}
SIZES["TransnetBW"] = (57_000, 114_000)
"""Of the batteries of a zone, in kW and kWh"""
SHARES = {
    "50Hertz": {"bentwis": 0.322581, "schwedt": 0.193548, "boxberg": 0.483871},
    "Amprion": {"herne": 0.32, "duisbrg": 0.48, "lingen": 0.2},
    "TenneT": {"brunsbt": 0.483871, "jardelu": 0.225806, "diele": 0.290323},
    "TransnetBW": {"heilbrn": 0.438596, "kupfrzl": 0.350877, "karlsrh": 0.210527},
}


def scene_of(session: Session, **known: Any) -> Any:
    memory = SimulatorState(
        world=1,
        seeds={},
        batteries={one.slug: f"id-{one.slug}" for one in BATTERIES},
        organisations={one.slug: f"id-{one.slug}" for one in ORGANISATIONS},
        portfolios={one.slug: f"portfolio-{one.slug}" for one in ORGANISATIONS},
    )
    return SimpleNamespace(
        **{"memory": memory, "operator": session, "step": STEP, "key": lambda action: action, "board": "board"} | known
    )


def backing_of(zone: str) -> list[dict[str, Any]]:
    return [{"physicalAssetID": f"id-{slug}", "share": share} for slug, share in SHARES[zone].items()]


def battery_of(zone: str, start: str, end: str, share: float) -> dict[str, Any]:
    power_kw, energy_kwh = (share * size for size in SIZES[zone])
    return {
        "start": start,
        "end": end,
        "deliveryZone": zone,
        "ratedChargePower": power_kw,
        "ratedDischargePower": power_kw,
        "energyCapacity": energy_kwh,
        "chargeEfficiency": 0.943,
        "dischargeEfficiency": 0.943,
        "dailyCycleLimit": 2.0,
    }


class TestAuctions:
    @pytest.mark.parametrize(
        ("worth_eur_mw", "hurdles"),
        [(100.0, ["930.00", "750.00", "930.00", "855.00"]), (0.0, ["1.00"] * 4)],
        ids=["of value", "of none"],
    )
    async def test_offer_a_quarter_of_each_zone_for_the_day_after_tomorrow(
        self, monkeypatch: pytest.MonkeyPatch, worth_eur_mw: float, hurdles: list[str]
    ) -> None:
        asked: list[Any] = []

        def expected_value(*of: Any) -> float:
            asked.append(of)
            return worth_eur_mw

        monkeypatch.setattr(operator, "expected_value", expected_value)
        ids = iter("dcba")
        session = Session(lambda target, body: {"id": next(ids)})
        scene = scene_of(session)
        await operator.offer_auctions(scene, TODAY)
        day = TODAY + timedelta(days=2)
        assert asked == [("board", USUAL, day, TODAY)] * 4
        closing = {"50Hertz": 6, "Amprion": 7, "TenneT": 8, "TransnetBW": 9}  # by UTC, on a day of summer
        found = {key: body for _, body, key in session.posted}
        for zone, hurdle in zip(SIZES, hurdles, strict=True):
            assert found[f"auction/{zone}"] == {
                "start": "2026-10-23T08:00:00Z",
                "end": f"2026-10-24T0{closing[zone]}:00:00Z",
                "item": battery_of(zone, "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", 0.25),
                "hurdlePrice": hurdle,
                "backing": backing_of(zone),
                "participants": ["id-rheintal", "id-neckar", "id-hanse"],
            }
        assert {target for target, _, _ in session.posted} == {"/auctions"}
        assert [(one.zone, one.delivery_day, one.power_mw) for one in scene.memory.auctions] == [
            (zone, day, size[0] / 4000) for zone, size in sorted(SIZES.items())
        ]
        assert [one.end.astimezone(UTC).hour for one in scene.memory.auctions] == [6, 7, 8, 9]

    async def test_are_listed_by_day_and_zone_whoever_was_answered_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(operator, "expected_value", lambda *_: 100.0)

        def answer(target: str, body: Any) -> Any:
            if body["item"]["deliveryZone"] == "TenneT":
                raise refusal()
            return {"id": body["item"]["deliveryZone"]}

        scene = scene_of(Session(answer))
        later, sooner = TODAY + timedelta(days=3), TODAY + timedelta(days=1)
        scene.memory.auctions += [OpenAuction("z", "A", later, STEP), OpenAuction("a", "Z", sooner, STEP)]
        scene.memory.auctions.append(OpenAuction("m", "B", TODAY + timedelta(days=2), STEP))
        await operator.offer_auctions(scene, TODAY)
        assert [one.id for one in scene.memory.auctions] == ["a", "50Hertz", "Amprion", "m", "TransnetBW", "z"]


class TestTolls:
    async def test_are_agreed_with_one_trader_a_zone_for_a_fortnight(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[Any] = []

        def annual_toll(board: Any, zone: str, first: date) -> int:
            asked.append((board, first))
            return 1000 * len(zone)

        def answer(target: str, body: Any) -> Any:
            if target.startswith("/settlements"):
                return None
            if body["deliveryZone"] == "Amprion":
                raise refusal()
            return {"id": f"asset-{body['deliveryZone']}"}

        monkeypatch.setattr(operator, "annual_toll", annual_toll)
        session = Session(answer)
        scene = scene_of(session)
        await operator.renew_tolls(scene, TODAY)
        start, end = "2026-10-22T22:00:00Z", "2026-11-05T23:00:00Z"
        holders = {"50Hertz": "rheintal", "TenneT": "hanse", "TransnetBW": "neckar"}
        posted = {key: (target, body) for target, body, key in session.posted}
        for zone, holder in holders.items():
            assert posted[f"toll/{zone}"] == (
                f"/organisations/id-{holder}/virtual-assets",
                {"name": f"{zone} 23 Oct", "portfolioID": f"portfolio-{holder}"}
                | battery_of(zone, start, end, 0.5)
                | {"backing": backing_of(zone)},
            )
            assert posted[f"contract/{zone}"] == (
                "/settlements/tolling-contracts",
                [
                    {
                        "contractID": f"TOLL-{zone}-2026-10-23",
                        "assetID": f"asset-{zone}",
                        "start": start,
                        "end": end,
                        "annualPrice": 1000 * len(zone),
                    }
                ],
            )
        assert len(posted) == 7, "where no battery could be made there is no contract"
        assert asked == [("board", TODAY)] * 3
        first, last = datetime(2026, 10, 22, 22, tzinfo=UTC), datetime(2026, 11, 5, 23, tzinfo=UTC)
        assert [
            (one.id, one.holder, one.zone, one.start, one.end, one.energy_kwh, one.daily_cycle_limit)
            for one in scene.memory.holdings
        ] == [
            (f"asset-{zone}", holder, zone, first, last, SIZES[zone][1] / 2, 2.0)
            for zone, holder in sorted(holders.items())
        ]

    async def test_are_listed_by_time_and_zone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(operator, "annual_toll", lambda *_: 1000)
        scene = scene_of(Session(lambda target, body: {"id": "new"}))
        for id, zone, begins, days in (("later", "A", 1, 1), ("long", "A", 0, 99), ("short", "Z", 0, 1)):
            start = datetime(2026, 10, 22, 22, tzinfo=UTC) + timedelta(days=begins)
            scene.memory.holdings.append(
                SimulatedHolding(id, "hanse", zone, start, start + timedelta(days=days), 1.0, 1.0, 1.0)
            )
        await operator.renew_tolls(scene, TODAY)
        assert [one.id for one in scene.memory.holdings] == ["short", *["new"] * 4, "long", "later"]


class TestPublishedPrices:
    @pytest.mark.parametrize(("auction", "first"), [(1, 0), (2, 0), (3, 52)])
    async def test_of_an_intraday_auction_are_of_what_it_trades(
        self, monkeypatch: pytest.MonkeyPatch, auction: int, first: int
    ) -> None:
        day, published = TODAY + timedelta(days=2), list[Any]()

        async def publish(_: Any, rows: list[Any]) -> None:
            published.extend(rows)

        def prices(of: date, which: IntradayAuction) -> np.ndarray:
            return np.arange(100.0) + 1000 * which.value + (0 if of == day else 5)

        monkeypatch.setattr(publishing, "publish", publish)
        scene = scene_of(Session(), board=SimpleNamespace(auction=prices))
        await operator.publish_auction(scene, day, IntradayAuction(auction))
        starts = [start.isoformat().replace("+00:00", "Z") for start in periods_of(day)]
        assert [(row["series"], row["start"], row["price"]) for row in published] == [
            (f"IDA{auction}_DE_LU", starts[n], 1000.0 * auction + n) for n in range(first, 100)
        ]

    @pytest.mark.parametrize(
        ("until", "published"),
        [
            (datetime(2026, 10, 22, 22, tzinfo=UTC), [(TODAY - timedelta(days=1), slice(80, 96))]),
            (
                datetime(2026, 10, 23, 0, tzinfo=UTC),
                [(TODAY - timedelta(days=1), slice(88, 96)), (TODAY, slice(0, 8))],
            ),
            (datetime(2026, 10, 23, 6, tzinfo=UTC), [(TODAY, slice(16, 32))]),
        ],
        ids=["at midnight", "of two days", "within a day"],
    )
    async def test_of_the_last_hours_are_of_the_quarter_hours_that_are_over(
        self, monkeypatch: pytest.MonkeyPatch, until: datetime, published: list[Any]
    ) -> None:
        asked: list[Any] = []
        sent: list[Any] = []

        def continuous_rows(_: Any, day: date, over: slice) -> list[Any]:
            asked.append((day, over))
            return [day]

        async def publish(_: Any, rows: list[Any]) -> None:
            sent.append(rows)

        monkeypatch.setattr(publishing, "continuous_rows", continuous_rows)
        monkeypatch.setattr(publishing, "publish", publish)
        await operator.publish_intraday(scene_of(Session()), until, 4)
        assert asked == published
        assert sent == [[day for day, _ in published]]
