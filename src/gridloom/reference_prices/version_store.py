"""Prices as they were known at a gate."""

from __future__ import annotations

from datetime import datetime, timedelta

from gridloom.platform.database.pool import Database


async def read_prices_changed_after_gate(
    db: Database, series: str, start: datetime, end: datetime, gate: timedelta
) -> tuple[list[int], list[int], list[float]]:
    """Those that stood at a gate, counted on the market's clock from midnight of their own market day, and were
    replaced only later: starts and ends in seconds since 1970, and the prices."""
    row = await db.fetchrow(
        """
        with changed as (
          select start_at, end_at, price from reference_price_superseded s
          cross join lateral (
            select (date_trunc('day', s.start_at at time zone 'Europe/Berlin') + $4)
              at time zone 'Europe/Berlin' as gate) as planned
          where series = $1 and start_at >= $2 and start_at < $3 and recorded_at <= gate and superseded_at > gate)
        select coalesce(array_agg(date_part('epoch', start_at)::int8 order by start_at), '{}') as starts,
          coalesce(array_agg(date_part('epoch', end_at)::int8 order by start_at), '{}') as ends,
          coalesce(array_agg(price::float8 order by start_at), '{}') as prices
        from changed
        """,
        series, start, end, gate,
    )  # fmt: skip
    assert row is not None
    return row["starts"], row["ends"], row["prices"]
