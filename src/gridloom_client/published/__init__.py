"""Price files that markets publish, read into reference prices."""

from gridloom_client.published.balancing import read_afrr_capacity, read_afrr_energy, read_fcr
from gridloom_client.published.day_ahead import read_day_ahead
from gridloom_client.published.imbalance import read_rebap
from gridloom_client.published.prices import PublishedFileError, PublishedPrice

__all__ = [
    "PublishedFileError",
    "PublishedPrice",
    "read_afrr_capacity",
    "read_afrr_energy",
    "read_day_ahead",
    "read_fcr",
    "read_rebap",
]
