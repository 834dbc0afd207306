"""What the wire shows of virtual assets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import UNSET, UnsetType

from gridloom.capacity.store import load_firm_capacity
from gridloom.database.pool import Database
from gridloom.kernel.codes import ControlArea
from gridloom.kernel.market_time import period_number
from gridloom.virtual_assets.backing.availability import available_fraction
from gridloom.virtual_assets.blocks import store as block_store
from gridloom.virtual_assets.energy.imbalance_loading import read_imbalances
from gridloom.virtual_assets.model import Block, VirtualAsset
from gridloom.virtual_assets.schedule.projection.imbalance import Imbalance
from gridloom.virtual_assets.wire import BackingView, BlockMetadata, VirtualAssetView


async def asset_views(db: Database, assets: Sequence[VirtualAsset], now: datetime) -> list[VirtualAssetView]:
    """The assets with their blocks and what is available of them now, in a fixed number of statements."""
    if not assets:
        return []
    keys = [asset.key for asset in assets]
    blocks = await block_store.read_blocks_of(db, keys)
    energies_kwh = await _available_energies_kwh(db, assets, now)
    imbalances = await read_imbalances(db, assets, blocks, now)
    return [_asset_view(asset, blocks[asset.key], energies_kwh[asset.key], imbalances[asset.key]) for asset in assets]


async def _available_energies_kwh(db: Database, assets: Sequence[VirtualAsset], now: datetime) -> dict[int, float]:
    """What is available of each asset's energy in the running period, or in the nearest one of its life."""
    periods = {asset.key: min(max(period_number(now), asset.first), asset.end - 1) for asset in assets}
    physical = {promise.physical_asset_key for asset in assets for promise in asset.promises}
    standing = await load_firm_capacity(db, physical, min(periods.values()), max(periods.values()) + 1)
    energies_kwh = {}
    for asset in assets:
        period = periods[asset.key]
        there = available_fraction(asset.promises, standing, period, period + 1)
        energies_kwh[asset.key] = float(there.energy[0]) * asset.terms.energy_capacity_kwh
    return energies_kwh


def _asset_view(
    asset: VirtualAsset, blocks: Sequence[Block], available_kwh: float, imbalance: Imbalance
) -> VirtualAssetView:
    terms = asset.terms
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
