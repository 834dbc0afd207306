"""The table of coefficients that calibration writes and the generator reads."""

from __future__ import annotations

from functools import cache
from importlib import resources

import msgspec
import numpy as np

FILE = "coefficients.json"
Floats = np.ndarray


class Coefficients(msgspec.Struct, frozen=True):
    """Hourly prices are mean + scale × deviation. Deviations are normal variables, one an hour of the day, of which
    each day carries a part over from the day before, mapped to the distribution of their hour.

    Dimensions: 12 months, 3 types of day, 24 hours of the wall clock, q probabilities.
    """

    calibrated_on: str
    source: str
    mean_eur_mwh: list[list[list[float]]]
    """[month][type of day][hour]"""
    scale_eur_mwh: list[list[float]]
    """[month][hour]: the standard deviation around the mean"""
    carry_over: list[list[float]]
    """[hour][hour of the day before]: persistence, from one hour of the day to others too"""
    innovation: list[list[float]]
    """[hour][k]: a factor of the covariance of a day's surprises"""
    probabilities: list[float]
    deviation_quantiles: list[list[float]]
    """[hour][q]: the distribution of the deviations of an hour"""
    mixing: list[list[float]]
    """[hour][hour]: takes back the chance of single hours: deviations last over hours of a day as real ones do"""
    raw_quantiles_eur_mwh: list[float]
    price_quantiles_eur_mwh: list[float]
    """Quantiles of the model, and of the market: spikes, and many hours just below zero"""
    quarter_slope: list[list[float]]
    """[hour][quarter]: the share of the hourly slope by which a quarter-hour strays from its hour"""
    quarter_offset_eur_mwh: list[list[float]]
    quarter_noise_eur_mwh: float


@cache
def coefficients() -> Coefficients:
    text = resources.files("gridloom.sandbox.simulator.market").joinpath(FILE).read_bytes()
    return msgspec.json.decode(text, type=Coefficients)


def array(values: object) -> Floats:
    return np.array(values, dtype=np.float64)
