"""Result files of regelleistung.net: FCR, aFRR capacity and aFRR energy.

What differs from Gridloom is set right here: FCR prices are published per block, and blocks last three, four or five
hours; downward aFRR energy is published with the price that the provider pays as positive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from itertools import groupby
from typing import NamedTuple

from gridloom_client.published.prices import MICRO, PublishedFileError, PublishedPrice, block, per_hour, quarter_hour
from gridloom_client.published.tables import NamedFile, Row, read_rows

_HOURS = "(00_04|04_08|08_12|12_16|16_20|20_24)"
_FCR_BLOCK = re.compile(f"NEGPOS_{_HOURS}")
_AFRR_BLOCK = re.compile(f"(POS|NEG)_{_HOURS}")
_QUARTER_HOUR = re.compile(r"(POS|NEG)_(\d{3})")
_FCR_PRICE = "GERMANY_SETTLEMENTCAPACITY_PRICE_[EUR/MW]"
_CAPACITY_PRICE = "GERMANY_{kind}_CAPACITY_PRICE_[{unit}]"
_UNITS = ("(EUR/MW)/h", "EUR/MW")  # per block until 2021-12-06
_ENERGY_PRICE = "ENERGY_PRICE_[EUR/MWh]"
_RESULT_PRICE = "GERMANY_{kind}_ENERGY_PRICE_[EUR/MWh]"
_DIRECTION = "ENERGY_PRICE_PAYMENT_DIRECTION"
_PAID_BY = {"GRID_TO_PROVIDER": 1, "PROVIDER_TO_GRID": -1}


def read_fcr(path: NamedFile) -> Iterator[PublishedPrice]:
    """Settlement prices of the FCR tender, from EUR/MW for the block to EUR/MW per hour."""
    for row in read_rows(path, _FCR_PRICE):
        if row.is_missing(_FCR_PRICE) or ("TENDER_NUMBER" in row and row.number("TENDER_NUMBER") != 1):
            continue
        start, end = block(row.day("DATE_FROM"), _read_product(row, "PRODUCTNAME", _FCR_BLOCK))
        yield PublishedPrice("FCR_DE", start, end, per_hour(row.number(_FCR_PRICE), start, end))


def read_afrr_capacity(path: NamedFile) -> Iterator[PublishedPrice]:
    """Average and marginal capacity prices of the aFRR tender."""
    for row in read_rows(path, "PRODUCT"):
        if not row.is_missing("TYPE_OF_RESERVES") and row.text("TYPE_OF_RESERVES").lower() != "afrr":
            continue
        product = _read_product(row, "PRODUCT", _AFRR_BLOCK)
        start, end = block(row.day("DATE_FROM"), product)
        for kind in ("AVERAGE", "MARGINAL"):
            name, unit = _capacity_column(row, kind)
            if row.is_missing(name):
                continue
            price = row.number(name)
            price = per_hour(price, start, end) if unit == "EUR/MW" else price.quantize(MICRO)
            yield PublishedPrice(f"AFRR_CAPACITY_{product.split('_')[0]}_DE_{kind}", start, end, price)


def _capacity_column(row: Row, kind: str) -> tuple[str, str]:
    for unit in _UNITS:
        name = _CAPACITY_PRICE.format(kind=kind, unit=unit)
        if name in row:
            return name, unit
    raise PublishedFileError(f"{row.place}: there is no column {_CAPACITY_PRICE.format(kind=kind, unit=_UNITS[0])}.")


def read_afrr_energy_results(path: NamedFile) -> Iterator[PublishedPrice]:
    """From the overview of a day's results: the average and the marginal price of each quarter-hour.

    Downward prices are published with what the provider pays as positive, and turned here.
    """
    for row in read_rows(path, "PRODUCT"):
        if not row.is_missing("TYPE_OF_RESERVES") and row.text("TYPE_OF_RESERVES").lower() != "afrr":
            continue
        product = _read_product(row, "PRODUCT", _QUARTER_HOUR)
        direction, number = product.split("_")
        try:
            start, end = quarter_hour(row.day("DELIVERY_DATE", "DATE_FROM"), int(number))
        except ValueError as fault:
            raise PublishedFileError(f"{row.place}, {product}: {fault}") from None
        for kind in ("AVERAGE", "MARGINAL"):
            name = _RESULT_PRICE.format(kind=kind)
            if name not in row:
                raise PublishedFileError(f"{row.place}: there is no column {name}.")
            if not row.is_missing(name):
                price = row.number(name) * (-1 if direction == "NEG" else 1)
                yield PublishedPrice(f"AFRR_ENERGY_{direction}_DE_{kind}", start, end, price.quantize(MICRO))


def read_afrr_energy(path: NamedFile) -> Iterator[PublishedPrice]:
    """From the list of anonymous energy bids: the average and the highest price of what was allocated, by period."""
    found = sorted(_energy_bids(path))
    for (day, product), group in groupby(found, key=lambda bid: (bid.day, bid.product)):
        bids = list(group)
        direction, number = product.split("_")
        try:
            start, end = quarter_hour(day, int(number))
        except ValueError as fault:
            raise PublishedFileError(f"{path.name}, {product}: {fault}") from None
        total = sum((bid.allocated_mw for bid in bids), Decimal(0))
        mean = sum((bid.price * bid.allocated_mw for bid in bids), Decimal(0)) / total
        series = f"AFRR_ENERGY_{direction}_DE"
        yield PublishedPrice(f"{series}_AVERAGE", start, end, mean.quantize(MICRO))
        yield PublishedPrice(f"{series}_MARGINAL", start, end, max(bid.price for bid in bids).quantize(MICRO))


class _EnergyBid(NamedTuple):
    day: date
    product: str
    price: Decimal
    allocated_mw: Decimal


def _energy_bids(path: NamedFile) -> Iterator[_EnergyBid]:
    """Allocated bids, at the price as paid to the provider."""
    for row in read_rows(path, _ENERGY_PRICE):
        allocated = "ALLOCATED_CAPACITY_[MW]"
        if row.is_missing(_ENERGY_PRICE) or row.is_missing(allocated) or not row.number(allocated):
            continue
        if not row.is_missing("COUNTRY") and row.text("COUNTRY") not in ("DE", "GERMANY"):
            continue
        product = _read_product(row, "PRODUCT", _QUARTER_HOUR)
        day = row.day("DELIVERY_DATE", "DATE_FROM")
        yield _EnergyBid(day, product, _paid_price(row, product), row.number(allocated))


def _paid_price(row: Row, product: str) -> Decimal:
    price = row.number(_ENERGY_PRICE)
    direction = row.text(_DIRECTION).upper()
    if direction in _PAID_BY:
        return abs(price) * _PAID_BY[direction]
    if direction:
        raise PublishedFileError(f"{row.place}: {_DIRECTION} is {direction!r}, not one of {', '.join(_PAID_BY)}.")
    return -price if product.startswith("NEG") else price


def _read_product(row: Row, name: str, form: re.Pattern[str]) -> str:
    product = row.text(name)
    if form.fullmatch(product) is None:
        raise PublishedFileError(f"{row.place}: {name} is {product!r}, which is no product of this market.")
    return product
