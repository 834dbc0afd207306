"""What a new block must respect."""

from __future__ import annotations

from gridloom.kernel.problem import FieldError, Problem
from gridloom.virtual_assets.grid import wire_time
from gridloom.virtual_assets.model import VirtualAsset


class BlockOutsideAsset(Problem):
    """A block lies within its asset's life and takes some of its power."""

    status = 422
    title = "The block does not fit its asset"


def check_new_block(asset: VirtualAsset, span: tuple[int, int], charge_kw: float, discharge_kw: float) -> None:
    if span[0] < asset.first or span[1] > asset.end:
        raise BlockOutsideAsset(
            f"The asset lives from {wire_time(asset.first)} to {wire_time(asset.end)}.",
            [FieldError("/start" if span[0] < asset.first else "/end", "Expected a time within the asset's life.")],
        )
    if charge_kw == 0 and discharge_kw == 0:
        raise BlockOutsideAsset(
            "A block takes some power in one direction at least.", [FieldError("/ratedDischargePower", "is 0")]
        )
