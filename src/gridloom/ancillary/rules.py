"""Rules of bids for balancing products, and of their results."""

from __future__ import annotations

from datetime import date, datetime
from typing import assert_never

from gridloom.ancillary.gates import TenderGates
from gridloom.ancillary.model import MAX_KEYS, BidStatus, NewAncillaryBid, NewResult
from gridloom.ancillary.products import AncillaryMarket, NotADeliveryDay, ProductKey, parse_product_key, product_key
from gridloom.kernel.figures import kw, say
from gridloom.kernel.market_time import format_instant
from gridloom.kernel.problem import BadRequest, Conflict, FieldError, Unprocessable

LOT_KW = 1000


class ProductGateClosed(Unprocessable, title="The gate is closed"):
    """The product takes no more bids: its gate is closed, by the platform's clock.

    FCR closes at 08:00 the day before delivery, aFRR capacity at 09:00, aFRR energy 25 minutes before its quarter-hour;
    all in market time. A bid cannot be placed, replaced or withdrawn any more.
    """


class ProductGateNotOpen(Unprocessable, title="The gate is not open yet"):
    """The product takes no bids yet, by the platform's clock.

    FCR opens 14 days before the delivery day at 10:00, aFRR capacity and energy 7 days before it; all in market time.
    """


class LotSizeViolated(Unprocessable, title="The capacity is not in whole lots"):
    """Balancing capacity is offered and accepted in whole megawatts: `offeredCapacity` and `acceptedCapacity`, in kW,
    are whole multiples of 1000."""


class PricesDoNotFitProduct(Unprocessable, title="The prices do not fit the product"):
    """Each market has its own prices: FCR a capacity price of 0 or more and no other, aFRR capacity both, aFRR energy
    an energy price and the capacity price 0."""


class ResultKnown(Conflict, title="The product has a result"):
    """The product already has a result for this asset, so no other bid can replace the one it was for."""


class BidNotStanding(Conflict, title="The bid does not stand"):
    """The bid was replaced or withdrawn, or it has its result; it can neither be withdrawn nor get a result now."""


class BidIdTaken(Conflict, title="The bid's id is taken"):
    """The asset has another bid under this id. Leave the id out, or choose a new one."""


class UnknownBids(Unprocessable, title="The asset has no such bid"):
    """A result names a bid that the asset does not have, or one for another product. `errors` names them."""


class ResultDoesNotFitBid(Unprocessable, title="The result does not fit the bid"):
    """An accepted bid has more than 0 and at most the offered capacity accepted, a rejected one exactly 0."""


class ContradictsResult(Conflict, title="The result contradicts the known one"):
    """The bid has another result already. If that one was wrong, send this one with `correction: true`.

    The same result again is welcome and changes nothing.
    """


def asked_keys(listed: str) -> dict[str, ProductKey]:
    """Distinct keys by their texts, in the order asked; a key has one spelling only."""
    faults, keys = [], {}
    for listed_text in listed.split(","):
        text = listed_text.strip()
        try:
            keys[text] = parse_product_key(text)
        except ValueError as error:
            faults.append(str(error))
    if faults:
        raise BadRequest(faults[0], errors=[FieldError("query:product-keys", error) for error in faults[:MAX_KEYS]])
    if len(keys) > MAX_KEYS:
        detail = f"At most {MAX_KEYS} product keys can be asked for at once, not {len(keys)}."
        raise BadRequest.at("query:product-keys", detail)
    return keys


def given_key(delivery_day: date, product: str, pointer: str) -> ProductKey:
    try:
        return product_key(delivery_day, product)
    except ValueError as error:
        field = "deliveryDay" if isinstance(error, NotADeliveryDay) else "product"
        raise BadRequest.at(f"{pointer}/{field}", str(error)) from None


def check_bid(key: ProductKey, bid: NewAncillaryBid, pointer: str) -> None:
    """Validation of a bid without the asset."""
    if bid.offered_capacity % LOT_KW:
        detail = say("{} are not a whole multiple of {}.", kw(bid.offered_capacity), kw(LOT_KW))
        raise LotSizeViolated.at(f"{pointer}/offeredCapacity", detail)
    match key.product.market:
        case AncillaryMarket.FCR:
            if bid.energy_price is not None:
                _reject_prices(pointer, "energyPrice", "FCR has no energy price.")
            if bid.capacity_price < 0:
                _reject_prices(pointer, "capacityPrice", "The capacity price of FCR is 0 or more.")
        case AncillaryMarket.AFRR_CAPACITY:
            if bid.energy_price is None:
                _reject_prices(pointer, "energyPrice", "aFRR capacity needs an energy price as well.")
        case AncillaryMarket.AFRR_ENERGY:
            if bid.energy_price is None:
                _reject_prices(pointer, "energyPrice", "aFRR energy needs an energy price.")
            if bid.capacity_price:
                _reject_prices(pointer, "capacityPrice", "aFRR energy has the capacity price 0.")
        case _ as other:
            assert_never(other)


def _reject_prices(pointer: str, field: str, detail: str) -> None:
    raise PricesDoNotFitProduct.at(f"{pointer}/{field}", detail)


def check_gate(key: ProductKey, gates: TenderGates, now: datetime, pointer: str) -> None:
    """A bid comes from the opening of its gate on and before the closing instant, which is already too late."""
    opening = gates.opening(key)
    if now < opening:
        detail = f"{key} opens at {format_instant(opening)}; it is {format_instant(now)}."
        raise ProductGateNotOpen.at(f"{pointer}/deliveryDay", detail)
    check_not_closed(key, gates, now, pointer)


def check_not_closed(key: ProductKey, gates: TenderGates, now: datetime, pointer: str = "") -> None:
    closure = gates.closure(key)
    if now < closure:
        return
    detail = f"{key} closed at {format_instant(closure)}; it is {format_instant(now)}."
    raise ProductGateClosed(detail, errors=[FieldError(f"{pointer}/deliveryDay", detail)] if pointer else [])


def check_result(result: NewResult, offered_kw: float, pointer: str) -> None:
    if result.accepted_capacity % LOT_KW:
        detail = say("{} are not a whole multiple of {}.", kw(result.accepted_capacity), kw(LOT_KW))
        raise LotSizeViolated.at(f"{pointer}/acceptedCapacity", detail)
    if result.accepted and not 0 < result.accepted_capacity <= offered_kw:
        detail = say(
            "An accepted bid of {} has up to that accepted, not {}.", kw(offered_kw), kw(result.accepted_capacity)
        )
    elif not result.accepted and result.accepted_capacity:
        detail = say("A rejected bid has {} accepted, not {}.", kw(0), kw(result.accepted_capacity))
    else:
        return
    raise ResultDoesNotFitBid.at(f"{pointer}/acceptedCapacity", detail)


def status_of(result: NewResult) -> BidStatus:
    return BidStatus.ACCEPTED if result.accepted else BidStatus.REJECTED
