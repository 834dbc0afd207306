"""What assets can do and when, from their ratings and everything that is unavailable.

`load_availability(db, asset_keys, window)` answers for any number of assets with one statement; `availability_series`
is the function behind it, from values to values.
"""

from gridloom.capacity.availability import (
    CHARGE,
    DISCHARGE,
    ENERGY,
    FCR,
    AvailabilityRun,
    AvailabilitySeries,
    CapacityOutage,
    Rating,
    RatingsAndOutages,
    availability_at,
    availability_series,
    maximum_rating,
)
from gridloom.capacity.store import load_availability, load_ratings_and_outages

__all__ = [
    "CHARGE",
    "DISCHARGE",
    "ENERGY",
    "FCR",
    "AvailabilityRun",
    "AvailabilitySeries",
    "CapacityOutage",
    "Rating",
    "RatingsAndOutages",
    "availability_at",
    "availability_series",
    "load_availability",
    "load_ratings_and_outages",
    "maximum_rating",
]
