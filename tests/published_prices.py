"""Price files in the form that publishers serve: made up for tests, and real ones where they lie beside the project."""

from __future__ import annotations

import json
import math
import os
from datetime import date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

REAL = Path(os.environ.get("GRIDLOOM_PRICES", Path(__file__).parents[2] / "shared" / "data"))
"""A folder of published prices; tests that want it say so where it is missing."""

MARKET = ZoneInfo("Europe/Berlin")


def write_energy_charts(path: Path, day: date, minutes: int) -> Path:
    """A market day with an invented price per step: a morning and an evening peak, a valley at noon below zero."""
    start, end = (int(datetime.combine(d, time(), MARKET).timestamp()) for d in (day, day + timedelta(days=1)))
    seconds = list(range(start, end, minutes * 60))
    prices = [round(60 + 80 * math.cos(4 * math.pi * (s - start) / 86_400 - 1) - (s // 900) % 4, 2) for s in seconds]
    document = {"license_info": "invented", "unix_seconds": seconds, "price": prices, "unit": "EUR / MWh"}
    path.write_text(json.dumps(document))
    return path
