"""A day with an hour less, and one with an hour more: schedules, dispatch and statements all have its length."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from tests.delivery.conftest import Yard, next_day_of, yard_of
from tests.virtual_assets.conftest import QUARTER, wire

from gridloom.kernel.market_time import market_day_window

DISCHARGE_KW = 100.0
CHARGE_KW = round(DISCHARGE_KW / 0.9 / 0.9, 3)
"""What brings back in a quarter-hour what one of discharging took, at 90 % each way."""
TOLL_EUR_MW_H = 10
FCR_EUR_BLOCK = 60


async def sent(answer: Any) -> Any:
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


async def sell_fcr(yard: Yard, battery: Any, day: date) -> None:
    """1 MW in the block from midnight to four, which has three or five hours."""
    target = f"/physical-assets/{battery['id']}/ancillary"
    offer = {"deliveryDay": day.isoformat(), "product": "NEGPOS_00_04"}
    bids = [{"capacityPrice": 40, "offeredCapacity": 1000}]
    [placed] = await sent(await yard.owner.trader.post(f"{target}/bids", json=[{**offer, "bids": bids}]))
    won = {"bidID": placed["bids"][0]["id"], "accepted": True, "acceptedCapacity": 1000}
    result = {**offer, "results": [{**won, "settlementPrice": FCR_EUR_BLOCK}]}
    await sent(await yard.owner.trader.post(f"{target}/results", json=[result]))


async def trade(yard: Yard, virtual: Any, powers: list[float]) -> None:
    rows = [
        {
            "tradeID": "all",
            "assetID": virtual["id"],
            "time": wire(yard.start + place * QUARTER),
            "side": "SELL" if power > 0 else "BUY",
            "volume": round(abs(power) / 4000, 8),
            "price": 80 if power > 0 else 20,
            "market": "DAY_AHEAD",
        }
        for place, power in enumerate(powers)
    ]
    await sent(await yard.operator.post("/settlements/wholesale-trades", json=rows))


@pytest.mark.parametrize("periods", [92, 100])
async def test_a_day_of_23_or_25_hours_is_delivered_and_paid_whole(fresh_app: Any, periods: int) -> None:
    day = next_day_of(periods)
    since = market_day_window(day).start - timedelta(hours=36)
    async with yard_of(await fresh_app(since)) as yard:
        await _deliver_day(yard, day, periods)


async def _deliver_day(yard: Yard, day: date, periods: int) -> None:
    window = market_day_window(day)
    yard.start = window.start
    span = {"start": wire(window.start), "end": wire(window.end)}
    rated = {"ratedChargePower": 4000, "ratedDischargePower": 4000, "energyCapacity": 8000}
    battery = await yard.battery(**rated, chargeEfficiency=0.9, dischargeEfficiency=0.9)
    virtual = await yard.virtual(battery, end=wire(window.end))
    await sell_fcr(yard, battery, day)
    powers = [DISCHARGE_KW, -CHARGE_KW] * (periods // 2)
    await yard.schedule(virtual, powers)
    await trade(yard, virtual, powers)
    year_start, year_end = (market_day_window(date(year, 1, 1)).start for year in (day.year, day.year + 1))
    hours_a_year = (year_end - year_start) // timedelta(hours=1)
    toll = {"contractID": "toll", "assetID": virtual["id"], **span, "annualPrice": TOLL_EUR_MW_H * hours_a_year}
    await sent(await yard.operator.post("/settlements/tolling-contracts", json=[toll]))
    await yard.advance(window.end)

    # Every quarter-hour of the day was dispatched as scheduled, beside the FCR of its first block.
    dispatch = (await sent(await yard.owner.trader.get(f"/physical-assets/{battery['id']}/dispatch", params=span)))[
        "dispatch"
    ]
    assert [point["power"] for point in dispatch] == pytest.approx(powers)
    assert [point["time"] for point in dispatch] == [wire(window.start + n * QUARTER) for n in range(periods)]
    standing_by = [any(part["kind"] == "FCR" for part in point["parts"]) for point in dispatch]
    assert standing_by == [place < periods - 80 for place in range(periods)], "until four in the morning"
    assert dispatch[-1]["stateOfChargePercentage"] == pytest.approx(50 - 0.25 * DISCHARGE_KW / 0.9 / 80, abs=1e-3)

    # What was sold is delivered; nothing is open, in as many quarter-hours as there are.
    position = await sent(await yard.trader.trader.get(f"{yard.url(virtual)}/position", params=span))
    assert len(position) == periods
    assert [point["open"] for point in position] == pytest.approx([0.0] * periods, abs=1e-7)

    # Money: one day, or its 23 or 25 hours, with the same cents.
    hours, rated_mw = periods // 4, virtual["ratedDischargePower"] / 1000
    earned = periods // 2 * (Decimal(80) * Decimal("0.025") - Decimal(20) * Decimal(str(round(CHARGE_KW / 4000, 8))))
    expected = {"TRADING": round(earned, 2), "TOLLING": -Decimal(str(TOLL_EUR_MW_H * rated_mw * hours))}
    for resolution, count in (("daily", 1), ("hourly", hours), ("15-minute", periods)):
        answer = await sent(
            await yard.trader.trader.get(
                f"/revenue-reporting/virtual-assets/{virtual['id']}/statement",
                params={**span, "resolution": resolution},
            )
        )
        lines: dict[str, Decimal] = defaultdict(Decimal)
        for line in answer["lines"]:
            lines[line["line"]] += Decimal(str(line["amount"]))
        assert lines == expected
        assert len([line for line in answer["lines"] if line["line"] == "TOLLING"]) == count
    [award] = (await sent(await yard.operator.get("/settlements/fcr")))[:1]
    assert award["settlementPrice"] == pytest.approx(FCR_EUR_BLOCK / (hours - 20))
    owned = await sent(
        await yard.owner.trader.get(f"/revenue-reporting/physical-assets/{battery['id']}/statement", params=span)
    )
    assert Decimal(str(owned["total"])) == FCR_EUR_BLOCK - expected["TOLLING"]
