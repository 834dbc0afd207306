"""The table of coefficients that calibration writes and the generator reads."""

from __future__ import annotations

from functools import cache
from importlib import resources

import msgspec
import numpy as np

FILE = "coefficients.json"
Floats = np.ndarray


class Coefficients(msgspec.Struct, frozen=True):
    """Hourly prices are mean + scale × Σ score × component; scores persist from day to day.

    Dimensions: 12 months, 3 types of day, 24 hours of the wall clock, k components, q probabilities.
    """

    calibrated_on: str
    source: str
    mean_eur_mwh: list[list[list[float]]]
    """[month][type of day][hour]"""
    scale_eur_mwh: list[list[float]]
    """[month][hour]: how far prices stray"""
    components: list[list[float]]
    """[k][hour], of length 1"""
    persistence: list[float]
    """[k]: correlation of a day's score with the day before"""
    probabilities: list[float]
    score_quantiles: list[list[float]]
    """[k][q]: how the scores are distributed"""
    raw_quantiles_eur_mwh: list[float]
    price_quantiles_eur_mwh: list[float]
    """What comes out so far, and what the market pays as often: spikes, and many hours just below zero"""
    quarter_slope: list[list[float]]
    """[hour][quarter]: the share of the hourly slope by which a quarter-hour strays from its hour"""
    quarter_offset_eur_mwh: list[list[float]]
    quarter_noise_eur_mwh: float


@cache
def coefficients() -> Coefficients:
    text = resources.files("gridloom.simulator.market").joinpath(FILE).read_bytes()
    return msgspec.json.decode(text, type=Coefficients)


def array(values: object) -> Floats:
    return np.array(values, dtype=np.float64)
