"""Bids and results in a line each, for the tests of this room."""

from datetime import date, timedelta

from tests.clock_changes import next_day_of

DAY = next_day_of(24, in_days=3).isoformat()
SPRING, AUTUMN = (next_day_of(hours, in_days=3).isoformat() for hours in (23, 25))

FCR = {"capacityPrice": 12.5, "offeredCapacity": 5000}
CAPACITY = {"capacityPrice": 8.25, "offeredCapacity": 4000, "energyPrice": 120.01}
STEP = {"capacityPrice": 9.75, "offeredCapacity": 1000, "energyPrice": 140}
ENERGY = {"capacityPrice": 0, "offeredCapacity": 3000, "energyPrice": -14999.99}


def day_from_now(days):
    """From when the run began: another test's day is not the next because midnight has come."""
    return (date.fromisoformat(DAY) + timedelta(days=days - 3)).isoformat()


def entry(product, *bids, day=DAY):
    return {"deliveryDay": day, "product": product, "bids": list(bids)}


async def place(asset, *entries, status=201):
    answer = await asset.owner.trader.post(asset.path("/ancillary/bids"), json=list(entries))
    assert answer.status_code == status, answer.text
    return answer


async def waiting(asset, *keys):
    answer = await asset.owner.viewer.get(
        asset.path("/ancillary/bids-without-result"), params={"product-keys": ",".join(keys)}
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


async def record(asset, product, bid_id, accepted=True, capacity=None, status=201, day=DAY, **more):
    result = {"bidID": bid_id, "accepted": accepted, "acceptedCapacity": capacity, **more}
    if capacity is None:
        result["acceptedCapacity"] = 1000 if accepted else 0
    answer = await asset.owner.trader.post(
        asset.path("/ancillary/results"), json=[{"deliveryDay": day, "product": product, "results": [result]}]
    )
    assert answer.status_code == status, answer.text
    return answer


async def all_bids(asset, *keys):
    answer = await asset.owner.viewer.get(
        asset.path("/ancillary/bids-by-product-keys"), params={"product-keys": ",".join(keys)}
    )
    return answer.json()
