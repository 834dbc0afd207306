"""What the wire shows of the schedule of a whole asset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import structs

from gridloom.market_calendar import Floats
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.blocks.views import CAPACITY_COLUMNS, expected_cuts, imbalance_view, series_fields
from gridloom.virtual_assets.model import Adjustment, Block, Market, VirtualAsset
from gridloom.virtual_assets.schedule.distribution import rated_kw
from gridloom.virtual_assets.schedule.projection.imbalance import Imbalance
from gridloom.virtual_assets.schedule.wire import AssetScheduleHead, AssetScheduleView, ScheduledAssetView


def schedule_head(asset: VirtualAsset, version: int | None = None) -> AssetScheduleHead:
    """version: one that was made since the asset was read."""
    return AssetScheduleHead(
        id=asset.id,
        start=asset.terms.window.start,
        end=asset.terms.window.end,
        market=Market.WHOLESALE,
        rated_charge_power=asset.terms.charge_kw,
        rated_discharge_power=asset.terms.discharge_kw,
        version=asset.version if version is None else version,
    )


def schedule_columns(
    blocks: Sequence[Block], first: int, power_kw: Floats, available: AvailableFraction
) -> dict[str, Floats]:
    """The power, and what the wholesale blocks have available and are rated for together, in each period."""
    end = first + len(power_kw)
    there = available.between(first, end)
    charge_kw, discharge_kw = rated_kw(blocks, np.arange(first, end))
    capacity_kw = (there.charge * charge_kw, there.discharge * discharge_kw, charge_kw, discharge_kw)
    return {"power": power_kw} | dict(zip(CAPACITY_COLUMNS, capacity_kw, strict=True))


def schedule_view(asset: VirtualAsset, first: int, columns: Mapping[str, Floats]) -> AssetScheduleView:
    return AssetScheduleView(**_view_fields(asset, asset.version, first, columns))


def scheduled_asset_view(
    asset: VirtualAsset,
    version: int,
    first: int,
    columns: Mapping[str, Floats],
    imbalance: Imbalance,
    cuts: Sequence[Adjustment],
) -> ScheduledAssetView:
    return ScheduledAssetView(
        **_view_fields(asset, version, first, columns),
        imbalance=imbalance_view(imbalance),
        expected_cuts=expected_cuts(cuts),
    )


def _view_fields(asset: VirtualAsset, version: int, first: int, columns: Mapping[str, Floats]) -> dict[str, Any]:
    capacities_kw = [columns[name] for name in CAPACITY_COLUMNS]
    return structs.asdict(schedule_head(asset, version)) | series_fields(first, columns["power"], capacities_kw)
