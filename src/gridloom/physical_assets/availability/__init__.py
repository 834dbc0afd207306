"""What assets can do and when, from their ratings and everything that is unavailable.

`load_availability(db, asset_keys, window)` answers for any number of assets with one statement; `availability` is the
function behind it, from values to values.
"""

from gridloom.capacity.series import (
    CHARGE,
    DISCHARGE,
    ENERGY,
    FCR,
    AvailabilityRun,
    AvailabilitySeries,
    Circumstances,
    Outage,
    Rating,
    availability,
    availability_at,
    greatest_rating,
)
from gridloom.capacity.store import load_availability, load_circumstances

__all__ = [
    "CHARGE",
    "DISCHARGE",
    "ENERGY",
    "FCR",
    "AvailabilityRun",
    "AvailabilitySeries",
    "Circumstances",
    "Outage",
    "Rating",
    "availability",
    "availability_at",
    "greatest_rating",
    "load_availability",
    "load_circumstances",
]
