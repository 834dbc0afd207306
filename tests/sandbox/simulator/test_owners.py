"""Owners: what they offer as balancing power, what becomes of it, and when they say that something is out of order."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.sandbox.simulator.recorded import Session, refusal

from gridloom.kernel.market_time import period_count
from gridloom.sandbox.simulator.market.balancing import fcr_prices_eur_mw
from gridloom.sandbox.simulator.participants.failures import announce_outages
from gridloom.sandbox.simulator.participants.operator import settle_day
from gridloom.sandbox.simulator.participants.owners import offer_reserves, report_results
from gridloom.sandbox.simulator.scenario import BATTERIES, SimulatedBattery
from gridloom.sandbox.simulator.state import AwaitedBid, FailureKind, SimulatedOutage, SimulatorState

pytestmark = pytest.mark.pure

DAY = date(2026, 6, 18)
NOON = datetime(2026, 6, 18, 10, tzinfo=UTC)
FCR_BATTERY = next(battery for battery in BATTERIES if battery.fcr_mw)
AFRR_BATTERY = next(battery for battery in BATTERIES if battery.afrr_mw)


class Voice:
    """Answers each bid with itself: the first of a request is offered, others are not."""

    def __init__(self) -> None:
        self.posted: list[tuple[str, Any]] = []

    async def post(self, target: str, body: Any, key: str) -> Any:
        self.posted.append((target, body))
        if not target.endswith("/bids"):
            return {"id": "notification"}
        return [
            entry | {"bids": [bid | {"id": entry["product"], "status": status} for bid in entry["bids"]]}
            for entry, status in zip(body, ["OFFERED"] + ["REJECTED"] * len(body), strict=False)
        ]


def context_of(**known: Any) -> Any:
    session = Voice()
    return SimpleNamespace(
        memory=SimulatorState(world=1, seeds={}, batteries={one.slug: one.slug for one in BATTERIES}, **known),
        market_data=SimpleNamespace(seed_of=lambda day: 1),
        sessions={one.owner: session for one in BATTERIES},
        operator=session,
        key=lambda action: action,
        step=NOON,
        chance=lambda purpose, *place: SimpleNamespace(
            uniform=lambda low=0.0, high=1.0, size=None: np.full(size, (low + high) / 2)
        ),
    )


class TestReserves:
    @pytest.mark.parametrize(
        ("day", "hours"), [(date(2026, 3, 29), 3), (DAY, 4), (date(2026, 10, 25), 5)], ids=lambda given: str(given)
    )
    async def test_are_settled_by_the_hours_of_their_block_and_reported_as_their_market_pays(
        self, day: date, hours: int
    ) -> None:
        """The first block is shorter or longer where clocks change: FCR, which clears for all of it, costs more or
        less an hour then, aFRR costs what was bid for one, and the later blocks have their four hours."""
        fcr = fcr_prices_eur_mw(1, day).tolist()
        bids = [
            AwaitedBid(FCR_BATTERY.slug, "NEGPOS_00_04", "first", 2000.0, fcr[0]),
            AwaitedBid(FCR_BATTERY.slug, "NEGPOS_20_24", "last", 1000.0, fcr[5]),
            AwaitedBid(AFRR_BATTERY.slug, "NEG_00_04", "afrr", 3000.0, 0.75),
        ]
        context = context_of(waiting=bids)
        await report_results(context, day)
        reported = {
            (target.split("/")[2], entry["deliveryDay"], entry["product"]): entry["results"]
            for target, results in context.operator.posted
            for entry in results
        }
        assert reported == {
            (one.battery, day.isoformat(), one.product): [
                {
                    "bidID": one.bid_id,
                    "accepted": True,
                    "acceptedCapacity": one.offered_kw,
                    "settlementPrice": one.price,
                }
            ]
            for one in bids
        }
        context.operator = Session()
        context.market_data.activation = context.market_data.activation_prices = lambda day, direction: np.zeros(
            period_count(day)
        )
        await settle_day(context, day)
        settled = {target: rows for target, rows, _ in context.operator.posted}

        def row(battery: SimulatedBattery, product: str, **values: Any) -> dict[str, Any]:
            return {"assetID": battery.slug, "deliveryDay": day.isoformat(), "product": product} | values

        assert settled == {
            "/settlements/fcr": [
                row(FCR_BATTERY, "NEGPOS_00_04", capacity=2, settlementPrice=round(fcr[0] / hours, 6)),
                row(FCR_BATTERY, "NEGPOS_20_24", capacity=1, settlementPrice=round(fcr[5] / 4, 6)),
            ],
            "/settlements/afrr-capacity": [row(AFRR_BATTERY, "NEG_00_04", capacity=3, price=0.75)],
        }


class TestWhatAnOwnerAsksFor:
    """Each request as a whole, by the owner of its battery alone."""

    def context_of(self, answer: Any, **known: Any) -> tuple[Any, dict[str, Session]]:
        context = context_of(**known)
        context.sessions = {one.owner: Session(answer) for one in BATTERIES}
        context.operator = Session(answer)
        return context, context.sessions

    async def test_of_fcr_is_the_usual_price_of_the_block_and_of_afrr_an_hours(self) -> None:
        """At what is usual for the hours of each block, times 0.9; the day has a block of five hours."""
        day = date(2026, 10, 25)
        context, sessions = self.context_of(lambda target, body: [])
        drawn: list[Any] = []

        def chance(purpose: str, *place: int) -> Any:
            drawn.append((purpose, place))

            def uniform(low: float, high: float, size: int) -> np.ndarray:
                drawn.append((low, high, size))
                steps: np.ndarray = 0.001 * np.arange(size) * (size == 2)
                return steps + (0.9 if size == 6 else 11.119)

            return SimpleNamespace(uniform=uniform)

        context.chance = chance
        await offer_reserves(context, day)
        posted = {key: (target, body) for session in sessions.values() for target, body, key in session.posted}
        prices = [40.5, 25.2, 30.6, 45.0, 34.2, 23.4]
        assert posted[f"fcr/{FCR_BATTERY.slug}"] == (
            f"/physical-assets/{FCR_BATTERY.slug}/ancillary/bids",
            [
                {
                    "deliveryDay": "2026-10-25",
                    "product": f"NEGPOS_{4 * number:02}_{4 * number + 4:02}",
                    "bids": [{"capacityPrice": price, "offeredCapacity": FCR_BATTERY.fcr_mw * 1000}],
                }
                for number, price in enumerate(prices)
            ],
        )
        assert posted[f"afrr/{AFRR_BATTERY.slug}"] == (
            f"/physical-assets/{AFRR_BATTERY.slug}/ancillary/bids",
            [
                {
                    "deliveryDay": "2026-10-25",
                    "product": product,
                    "bids": [
                        {"capacityPrice": 11.12, "offeredCapacity": AFRR_BATTERY.afrr_mw * 1000, "energyPrice": 120.0}
                    ],
                }
                for product in ("POS_16_20", "POS_20_24", "NEG_08_12", "NEG_12_16")
            ],
        )
        for owner, session in sessions.items():
            slugs = {target.split("/")[2] for target, _, _ in session.posted}
            assert slugs <= {one.slug for one in BATTERIES if one.owner == owner}
        assert context.operator.posted == []
        place = (BATTERIES.index(AFRR_BATTERY), day.toordinal())
        assert {("afrr offer POS", place), ("afrr offer NEG", place), (0.55, 1.25, 6), (4, 16, 2)} <= set(drawn)

    async def test_brings_nothing_where_results_are_refused_and_is_not_asked_for_again(self) -> None:
        def answer(target: str, body: Any) -> Any:
            if AFRR_BATTERY.slug in target:
                raise refusal()

        bids = [
            AwaitedBid(AFRR_BATTERY.slug, "POS_16_20", "1", 3000.0, 0.0),
            AwaitedBid(FCR_BATTERY.slug, "NEGPOS_04_08", "2", 2000.0, 0.0),
        ]
        context, _ = self.context_of(answer, waiting=bids)
        await report_results(context, DAY)
        assert [(one.battery, one.capacity_mw) for one in context.memory.awards[DAY.isoformat()]] == [
            (FCR_BATTERY.slug, 2)
        ]
        assert context.memory.waiting == []
        assert [key for _, _, key in context.operator.posted] == [
            f"results/{one.slug}" for one in BATTERIES if one in (AFRR_BATTERY, FCR_BATTERY)
        ]

    @pytest.mark.parametrize("planned", [True, False])
    async def test_says_of_an_outage_when_how_much_and_why_and_names_its_message(self, planned: bool) -> None:
        battery = BATTERIES[3]
        start, end = NOON, NOON + timedelta(hours=2)
        kind = FailureKind.MAINTENANCE if planned else FailureKind.TRIP
        outage = SimulatedOutage(battery.slug, start, end, 0.25, planned, kind=kind)
        context, sessions = self.context_of(lambda target, body: {"id": "message"}, outages=[outage])
        await announce_outages(context)
        missing_kw, key = 0.25 * battery.power_kw, f"outage/{battery.slug}/20260618T1000"
        asset, instants = f"/physical-assets/{battery.slug}", ("2026-06-18T10:00:00Z", "2026-06-18T12:00:00Z")
        message = {
            "unavailabilityType": "PLANNED" if planned else "UNPLANNED",
            "eventStart": instants[0],
            "eventEnd": instants[1],
            "unavailableCapacity": missing_kw,
            "cause": "Foreseen maintenance" if planned else "Failure of a converter",
        }
        unavailability = {
            "description": "Yearly service of the converters" if planned else "A converter has tripped",
            "type": "MAINTENANCE" if planned else "OUTAGE",
            "start": instants[0],
            "end": instants[1],
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": missing_kw, "discharge": missing_kw}},
            "exchangeNotificationIds": ["message"],
        }
        assert sessions[battery.owner].posted == [
            (f"{asset}/exchange-notifications", message, f"{key}/message"),
            (f"{asset}/unavailability", unavailability, key),
        ]
