"""Earnings of reserves on a delivery day, in PostgreSQL."""

from __future__ import annotations

from datetime import date, datetime

from gridloom.markets.day.model import MarketName
from gridloom.platform.database.pool import Database


async def read_reserve_earnings(
    db: Database, asset_key: int, day: date, start: datetime, end: datetime
) -> dict[MarketName, float]:
    """In EUR: awards of capacity on the day, and the energy activated in the window."""
    row = await db.fetchrow(
        """
        select
          (select sum(capacity_mw * price_eur_mw_h * delivery_h)::float8 from fcr_award
           where asset_key = $1 and delivery_day = $2) as fcr,
          (select sum(capacity_mw * price_eur_mw_h * delivery_h)::float8 from afrr_capacity_award
           where asset_key = $1 and delivery_day = $2) as afrr,
          (select sum(volume_mwh * price_eur_mwh)::float8 from afrr_activation
           where asset_key = $1 and period >= $3 and period < $4) as afrr_energy
        """,
        asset_key,
        day,
        start,
        end,
    )
    assert row is not None
    return {
        MarketName.FCR: row["fcr"] or 0.0,
        MarketName.AFRR: row["afrr"] or 0.0,
        MarketName.AFRR_ENERGY: row["afrr_energy"] or 0.0,
    }
