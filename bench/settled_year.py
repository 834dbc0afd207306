"""A portfolio with a settled year behind it, kept as settlements keep it, and the same figures as Parquet."""

from __future__ import annotations

import urllib.parse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gridloom.kernel.ids import uuid7
from gridloom.market_calendar import BLOCKS_PER_DAY, PERIOD_S, day_start, market_date, market_day_number, period_counts
from gridloom.settlements.measures import AGGREGATED_SOURCES, BLOCK_SOURCES, MEASURES, positions_of
from gridloom.settlements.period_aggregates import FloatArray, encode_aggregates, spread_blocks

YEAR = (datetime(2025, 12, 31, 23, tzinfo=UTC), datetime(2026, 12, 31, 23, tzinfo=UTC))
RATED_MW = 10.0
MEASURE_NAMES = [measure.name for measure in MEASURES]


class Scene:
    def __init__(self, ids: list[UUID], portfolio: UUID) -> None:
        self.ids = ids
        self.portfolio = portfolio


def day_numbers(days: int) -> Any:
    first = market_day_number(datetime(2026, 1, 1, tzinfo=UTC).date())
    return np.arange(first, first + days)


def window_of(days: int) -> str:
    end = datetime.fromtimestamp(day_start(day_numbers(days)[-1] + 1), tz=UTC)
    return urllib.parse.urlencode({"start": YEAR[0].isoformat(), "end": end.isoformat()})


async def fill(url: str, assets: int, days: int, parquet: Path) -> Scene:
    """A portfolio of assets with a year of figures, kept as settlements keep them, and the same as one Parquet file."""
    connection = await asyncpg.connect(url)
    numbers = day_numbers(days)
    counts = period_counts(numbers)
    periods = int(counts.sum())
    starts_ms = (day_start(numbers[0]) + PERIOD_S * np.arange(periods)) * 1000
    organisation, portfolio = uuid7(), uuid7()
    await connection.execute(
        "insert into organisation (id, name, kind) values ($1, 'Bench', 'PARTICIPANT')", organisation
    )
    await connection.execute(
        "insert into portfolio (id, organisation_id, name) values ($1, $2, 'All')", portfolio, organisation
    )
    ids = []
    writer = None
    for number in range(assets):
        id, key = await _asset(connection, organisation, portfolio)
        ids.append(id)
        table = _made_up(np.random.default_rng(number), numbers, counts)
        await _keep(connection, key, numbers, counts, table)
        columns = {"asset": np.full(periods, number), "time": pa.array(starts_ms, pa.timestamp("ms", "UTC"))}
        content = pa.table(columns | {name: table[1][n] for n, name in enumerate(MEASURE_NAMES)})
        if number == 0:
            pq.write_table(content, parquet.with_name("one.parquet"), compression="zstd")
        writer = writer or pq.ParquetWriter(parquet, content.schema, compression="zstd")
        writer.write_table(content)
    assert writer is not None
    writer.close()
    await connection.execute("analyze settled_day, settled_periods")
    await connection.close()
    return Scene(ids, portfolio)


async def _asset(connection: Any, organisation: UUID, portfolio: UUID) -> tuple[UUID, int]:
    id = uuid7()
    key = await connection.fetchval(
        "insert into asset (id, kind, organisation_id) values ($1, 'VIRTUAL', $2) returning key", id, organisation
    )
    await connection.execute(
        """
        insert into virtual_asset (asset_key, organisation_id, portfolio_id, name, start_at, end_at, delivery_zone,
          rated_charge_power_kw, rated_discharge_power_kw, energy_capacity_kwh, charge_efficiency,
          discharge_efficiency, gate_closure_s, initial_soc, final_soc_target, final_soc_tolerance, created_at,
          version, end_kwh)
        values ($1, $2, $3, 'b', '2020-01-01', '2040-01-01', 'TenneT', $4, $4, 1000, 1, 1, 480, 0.5, 0.5, 0.01,
          now(), 1, 500)
        """,
        key, organisation, portfolio, RATED_MW * 1000,
    )  # fmt: skip
    return id, key


def _made_up(dice: np.random.Generator, numbers: Any, counts: Any) -> tuple[FloatArray, FloatArray]:
    """Measures by block (four and one, six a day) and all measures by period, as a busy battery would have them."""
    periods = int(counts.sum())
    volume = np.round(np.where(dice.random((2, periods)) < 0.4, dice.random((2, periods)) * 2.5, 0), 3)
    price = np.round(dice.normal(80, 40, (2, periods)), 2)
    activated = np.round(np.where(dice.random((2, periods)) < 0.2, dice.random((2, periods)), 0), 3)
    energy_price = np.round(dice.normal(120, 30, (2, periods)), 2)
    blocks = len(numbers) * BLOCKS_PER_DAY
    hours = np.where(dice.random(blocks) < 0.7, 4.0, 0.0)
    capacity, fcr_price = dice.integers(1, 8, blocks).astype(float), np.round(dice.random(blocks) * 20, 6)
    by_block = np.array(
        [
            capacity * fcr_price * hours,
            capacity * hours,
            fcr_price * hours,
            hours,
            np.round(dice.random(blocks) * 100, 2),
        ]
    )
    by_period = np.zeros((len(MEASURES), periods))
    by_period[0:4] = [volume[0], volume[0] * price[0], volume[1], volume[1] * price[1]]
    by_period[4] = np.round(dice.random(periods), 3)
    by_period[5:10] = spread_blocks(by_block, numbers)
    by_period[10:14] = [activated[0], activated[0] * energy_price[0], activated[1], activated[1] * energy_price[1]]
    return by_block, by_period


async def _keep(connection: Any, key: int, numbers: Any, counts: Any, table: tuple[FloatArray, FloatArray]) -> None:
    by_block, by_period = table
    ends = np.cumsum(counts)
    sheets, sums = [], []
    for n, end in enumerate(ends):
        part = by_period[:, end - counts[n] : end]
        row: list[Any] = []
        for source in AGGREGATED_SOURCES:
            found = positions_of(source)
            if source in BLOCK_SOURCES:
                places = slice(found.start - 5, found.stop - 5)
                row.append(encode_aggregates(source, by_block[places, n * BLOCKS_PER_DAY : (n + 1) * BLOCKS_PER_DAY]))
            else:
                row.append(encode_aggregates(source, part[found]))
        day = market_date(int(numbers[n]))
        sheets.append((key, day, *row))
        sums.append((key, day, *part.sum(axis=1).tolist()))
    await connection.copy_records_to_table(
        "settled_periods",
        records=sheets,
        columns=["asset_key", "day", *(source.value for source in AGGREGATED_SOURCES)],
    )
    await connection.copy_records_to_table("settled_day", records=sums, columns=["asset_key", "day", *MEASURE_NAMES])
