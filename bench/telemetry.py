"""Telemetry for the monitoring bench: batteries of 20 signals, sampled every minute, as noisy as real sensors."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

START_S = 1_735_686_000
"""Midnight in Berlin on 1 January 2025."""
SIGNALS = (
    "active_power", "state_of_charge", "available_charge_power", "available_discharge_power", "available_energy",
    "state_of_health", "temperature", "cycles", "frequency", "redispatch_active",
    *(f"temperature.rack_{rack}" for rack in range(1, 5)), *(f"voltage.rack_{rack}" for rack in range(1, 5)),
    "reactive_power", "auxiliary_power",
)  # fmt: skip


def battery(seed: int, minutes: int, first_minute: int = 0, *, a_minute: int = 1) -> dict[str, NDArray[np.float64]]:
    """A battery that trades between day and night: power to 0.1 kW, charge to 0.1 %, frequency to 1 mHz.

    a_minute: how often it is sampled in a minute.
    """
    noise = np.random.default_rng([seed, first_minute])
    minute = first_minute + np.arange(minutes * a_minute) / a_minute
    minutes *= a_minute
    swing = np.sin(2 * np.pi * (minute / 1440 + seed / 7))
    power = np.where(np.abs(swing) > 0.3, 8000 * swing, 0.0) + noise.normal(0, 4, minutes) * (np.abs(swing) > 0.3)
    charge = 50 - 40 * np.cos(2 * np.pi * (minute / 1440 + seed / 7)) + noise.normal(0, 0.03, minutes)
    warmth = 24 + 3 * swing
    columns = {
        "active_power": np.round(power, 1),
        "state_of_charge": np.round(charge, 1),
        "available_charge_power": np.where(charge > 88, 4000.0, 10_000.0),
        "available_discharge_power": np.where(charge < 12, 4000.0, 10_000.0),
        "available_energy": np.round(200 * charge, 0),
        "state_of_health": np.full(minutes, 97.4),
        "temperature": np.round(warmth + noise.normal(0, 0.1, minutes), 1),
        "cycles": np.round(400 + minute / 1440 * 1.7, 2),
        "frequency": np.round(50 + noise.normal(0, 0.015, minutes), 3),
        "redispatch_active": (minute // 4000 % 9 == 0).astype(np.float64),
        "reactive_power": np.round(noise.normal(0, 20, minutes), 0),
        "auxiliary_power": np.round(35 + 5 * swing + noise.normal(0, 0.5, minutes), 1),
    }
    for rack in range(1, 5):
        columns[f"temperature.rack_{rack}"] = np.round(warmth + rack / 10 + noise.normal(0, 0.1, minutes), 1)
        columns[f"voltage.rack_{rack}"] = np.round(760 + charge + noise.normal(0, 0.3, minutes), 1)
    return {name: columns[name] for name in SIGNALS}


def times_s(minutes: int, first_minute: int = 0) -> NDArray[np.int64]:
    return START_S + 60 * (first_minute + np.arange(minutes, dtype=np.int64))


def wide(columns: dict[str, NDArray[np.float64]], times: NDArray[np.int64]) -> bytes:
    return _stream(pa.table({"time": pa.array(times * 1000).cast(pa.timestamp("ms", "UTC")), **columns}))


def long(columns: dict[str, NDArray[np.float64]], times: NDArray[np.int64]) -> bytes:
    """Time by time, as a gateway collects it."""
    names = pa.array(list(columns))
    codes = np.tile(np.arange(len(columns), dtype=np.int8), len(times))
    signal = pa.DictionaryArray.from_arrays(pa.array(codes), names)
    time = pa.array(np.repeat(times * 1000, len(columns))).cast(pa.timestamp("ms", "UTC"))
    value = np.stack(list(columns.values()), axis=1).reshape(-1)
    return _stream(pa.table({"signal": signal, "time": time, "value": value}))


def json_columns(columns: dict[str, NDArray[np.float64]], times: NDArray[np.int64]) -> bytes:
    texts = [f"{text}Z" for text in np.datetime_as_string(times.astype("datetime64[s]")).tolist()]
    body: dict[str, Any] = {name: {"time": texts, "value": values.tolist()} for name, values in columns.items()}
    return json.dumps(body, separators=(",", ":")).encode()


def _stream(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
