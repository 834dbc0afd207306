"""What a new block must respect."""

from __future__ import annotations

from gridloom.kernel.market_time import is_block_start
from gridloom.kernel.problem import FieldError, Problem
from gridloom.kernel.window import Window
from gridloom.market_calendar import format_period
from gridloom.virtual_assets.model import Market, VirtualAsset


class BlockOutsideAsset(Problem):
    """A block lies within its asset's life and takes some of its power."""

    status = 422
    title = "The block does not fit its asset"


class NotAMarketProduct(Problem):
    """FCR and aFRR blocks are the market's products: they start and end on its four-hour blocks, on the wall clock in
    Berlin, and FCR is symmetric."""

    status = 422
    title = "The block is not one of the market's products"


def check_market_product(market: Market, window: Window, charge_kw: float, discharge_kw: float) -> None:
    if market is Market.WHOLESALE:
        return
    off = [name for name, moment in (("start", window.start), ("end", window.end)) if not is_block_start(moment)]
    if off:
        raise NotAMarketProduct(
            f"{market} comes in blocks of four hours from midnight in Berlin on.",
            [FieldError(f"/{name}", "Expected the edge of a four-hour block.") for name in off],
        )
    if market is Market.FCR and charge_kw != discharge_kw:
        raise NotAMarketProduct(
            f"FCR goes both ways alike, not {charge_kw:g} kW of charging and {discharge_kw:g} kW of discharging.",
            [FieldError("/ratedChargePower", "Expected the same power in both directions.")],
        )


def check_new_block(asset: VirtualAsset, span: tuple[int, int], charge_kw: float, discharge_kw: float) -> None:
    if span[0] < asset.first or span[1] > asset.end:
        raise BlockOutsideAsset(
            f"The asset lives from {format_period(asset.first)} to {format_period(asset.end)}.",
            [FieldError("/start" if span[0] < asset.first else "/end", "Expected a time within the asset's life.")],
        )
    if charge_kw == 0 and discharge_kw == 0:
        raise BlockOutsideAsset(
            "A block takes some power in one direction at least.", [FieldError("/ratedDischargePower", "is 0")]
        )
