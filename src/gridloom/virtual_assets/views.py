"""What the wire shows of virtual assets, made from what the service knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import orjson
from msgspec import UNSET, UnsetType, structs
from numpy.typing import NDArray

from gridloom.database.pool import Database
from gridloom.edge.tabular import points_json, time_texts
from gridloom.kernel.codes import ControlArea
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability.store import load_circumstances
from gridloom.virtual_assets import backing_store, store
from gridloom.virtual_assets.availability import Availability, available_of
from gridloom.virtual_assets.grid import Floats, period_number, period_start, utc_milliseconds
from gridloom.virtual_assets.imbalance import Imbalance
from gridloom.virtual_assets.model import Block, Portfolio, VirtualAsset
from gridloom.virtual_assets.scheduling import imbalance_at_end
from gridloom.virtual_assets.wire import (
    BackingView,
    BlockHead,
    BlockMetadata,
    BlockView,
    ImbalanceView,
    PortfolioView,
    ScheduledBlockView,
    VirtualAssetView,
    already_json,
)

CAPACITY_COLUMNS = (
    "chargePowerCapacity",
    "dischargePowerCapacity",
    "ratedChargePowerCapacity",
    "ratedDischargePowerCapacity",
)


async def asset_views(db: Database, assets: Sequence[VirtualAsset], now: datetime) -> list[VirtualAssetView]:
    """The assets with their blocks and what is available of them now, in a fixed number of statements."""
    if not assets:
        return []
    keys = [asset.key for asset in assets]
    blocks = await store.read_blocks_of(db, keys)
    energies_kwh = await _available_energies_kwh(db, assets, now)
    return [_asset_view(asset, blocks[asset.key], energies_kwh[asset.key]) for asset in assets]


async def _available_energies_kwh(db: Database, assets: Sequence[VirtualAsset], now: datetime) -> dict[int, float]:
    """What is available of each asset's energy in the running period, or in the nearest one of its life."""
    periods = {asset.key: min(max(period_number(now), asset.first), asset.end - 1) for asset in assets}
    physical = {promise.physical_asset_key for asset in assets for promise in asset.promises}
    hull = Window(period_start(min(periods.values())), period_start(max(periods.values()) + 1))
    circumstances = await load_circumstances(db, physical, hull)
    steps = await backing_store.read_steps(db, physical, hull)
    energies_kwh = {}
    for asset in assets:
        period = periods[asset.key]
        there = available_of(asset.promises, circumstances, steps, period, period + 1)
        energies_kwh[asset.key] = float(there.energy[0]) * asset.terms.energy_capacity_kwh
    return energies_kwh


def _asset_view(asset: VirtualAsset, blocks: Sequence[Block], available_kwh: float) -> VirtualAssetView:
    terms, imbalance = asset.terms, imbalance_at_end(asset, asset.end_kwh)
    return VirtualAssetView(
        id=asset.id,
        organisation_id=asset.organisation_id,
        portfolio_id=terms.portfolio_id,
        name=terms.name,
        created_at=asset.created_at,
        start=terms.window.start,
        end=terms.window.end,
        delivery_zone=ControlArea(terms.delivery_zone),
        eic_code=_unless_none(terms.eic_code),
        rated_charge_power=terms.charge_kw,
        rated_discharge_power=terms.discharge_kw,
        energy_capacity=terms.energy_capacity_kwh,
        available_energy_capacity=available_kwh,
        charge_efficiency=terms.efficiency.charge,
        discharge_efficiency=terms.efficiency.discharge,
        daily_cycle_limit=_unless_none(terms.daily_cycle_limit),
        annual_cycle_limit=_unless_none(terms.annual_cycle_limit),
        ramp_rate=_unless_none(terms.ramp_rate_kw_s),
        dispatch_gate_closure_seconds=terms.gate_closure_s,
        initial_state_of_charge_percentage=round(100 * terms.initial_soc, 10),  # 57 % is 57, not 56.99999999999999
        final_soc_tolerance=terms.final_soc_tolerance,
        end_state_of_charge_percentage=imbalance.end_state_of_charge_percentage,
        imbalance_charge=imbalance.imbalance_charge_kwh,
        imbalance_discharge=imbalance.imbalance_discharge_kwh,
        feedback=imbalance.feedback,
        block_ids=[block.id for block in blocks],
        block_metadata=[
            BlockMetadata(id=b.id, start=b.window.start, end=b.window.end, market=b.market) for b in blocks
        ],
        backing=[BackingView(physical_asset_id=b.physical_asset_id, share=b.share) for b in terms.backing],
        auction_id=_unless_none(terms.auction_id),
    )


def _unless_none(value: Any) -> Any | UnsetType:
    return UNSET if value is None else value


def imbalance_view(imbalance: Imbalance) -> ImbalanceView:
    return ImbalanceView(
        balanced=imbalance.balanced,
        end_state_of_charge_percentage=imbalance.end_state_of_charge_percentage,
        imbalance_charge=imbalance.imbalance_charge_kwh,
        imbalance_discharge=imbalance.imbalance_discharge_kwh,
        feedback=imbalance.feedback,
    )


def block_view(block: Block, first: int, power_kw: Floats, available: Availability) -> BlockView:
    """The block with its schedule and capacity from `first` on, as far as `power_kw` reaches."""
    return BlockView(**_block_fields(block, first, power_kw, available))


def scheduled_block_view(
    block: Block, first: int, power_kw: Floats, available: Availability, imbalance: Imbalance
) -> ScheduledBlockView:
    fields = _block_fields(block, first, power_kw, available)
    return ScheduledBlockView(**fields, imbalance=imbalance_view(imbalance))


def block_view_without_series(block: Block) -> BlockHead:
    window = block.window
    return BlockHead(
        id=block.id,
        start=window.start,
        end=window.end,
        market=block.market,
        rated_charge_power=block.charge_kw,
        rated_discharge_power=block.discharge_kw,
    )


def _block_fields(block: Block, first: int, power_kw: Floats, available: Availability) -> dict[str, Any]:
    end = first + len(power_kw)
    times = period_times(first, end)
    return structs.asdict(block_view_without_series(block)) | {
        "schedule": already_json(points_json(times, power_kw, name="power")),
        "power_capacity": already_json(
            rows_json(times, dict(zip(CAPACITY_COLUMNS, capacity_kw(block, first, end, available), strict=True)))
        ),
    }


def capacity_kw(block: Block, first: int, end: int, available: Availability) -> tuple[Floats, Floats, Floats, Floats]:
    """Available and rated power of the block, charging and discharging, in each period."""
    there = available.between(first, end)
    rated = np.ones(end - first)
    return (
        there.charge * block.charge_kw,
        there.discharge * block.discharge_kw,
        rated * block.charge_kw,
        rated * block.discharge_kw,
    )


def period_times(first: int, end: int) -> NDArray[np.datetime64]:
    return utc_milliseconds(first, max(first, end)).view("datetime64[ms]")


def rows_json(times: NDArray[np.datetime64], columns: Mapping[str, Floats]) -> bytes:
    """`[{"time": …, <column>: …}, …]`, column by column."""
    if len(times) == 0:
        return b"[]"
    texts = [
        orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY).decode()[1:-1].split(",")
        for values in columns.values()
    ]
    shape = '{{"time":"{}",' + ",".join(f'"{name}":{{}}' for name in columns) + "}}"
    rows = map(shape.format, time_texts(times).tolist(), *texts)
    return f"[{','.join(rows)}]".encode()


def portfolio_view(portfolio: Portfolio) -> PortfolioView:
    return PortfolioView(
        id=portfolio.id,
        organisation_id=portfolio.organisation_id,
        name=portfolio.name,
        virtual_asset_ids=list(portfolio.virtual_asset_ids),
        created_at=portfolio.created_at,
    )
