"""Netting opposite powers within a zone: what exporters give and importers take meets without any battery moving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.market_calendar import Floats, Ints

_UNITS_PER_KW_PERIOD: Final = 25_000
"""A kW over a quarter-hour is 0.00025 MWh; net-off volumes are stored in hundred-millionths of a MWh."""


@dataclass(frozen=True, slots=True, eq=False)
class Netting:
    """`netted_kw` has each asset's part, positive for exporters; all parts of a period sum to zero."""

    exports_kw: Floats
    imports_kw: Floats
    netted_kw: Floats

    @property
    def net_kw(self) -> Floats:
        return np.asarray(self.exports_kw - self.imports_kw)

    @property
    def matched_kw(self) -> Floats:
        return np.minimum(self.exports_kw, self.imports_kw)


def net(power_kw: Floats) -> Netting:
    """Each asset's part is pro rata of its side: `p · min(Σ exports, Σ imports) ÷ Σ of its side`."""
    exports_kw = _sum_columns(np.maximum(power_kw, 0.0))
    imports_kw = _sum_columns(np.maximum(-power_kw, 0.0))
    matched_kw = np.minimum(exports_kw, imports_kw)
    exported, imported = np.zeros_like(matched_kw), np.zeros_like(matched_kw)
    np.divide(matched_kw, exports_kw, out=exported, where=exports_kw > 0)
    np.divide(matched_kw, imports_kw, out=imported, where=imports_kw > 0)
    return Netting(exports_kw, imports_kw, power_kw * np.where(power_kw > 0, exported, imported))


def _sum_columns(power_kw: Floats) -> Floats:
    """The sum of each period, the same whichever periods are summed together: a column by itself would be summed in
    another order."""
    if power_kw.shape[1] == 1:
        return np.asarray(np.repeat(power_kw, 2, axis=1).sum(axis=0)[:1])
    return np.asarray(power_kw.sum(axis=0))


def net_off_units(netted_kw: Floats) -> Ints:
    """The netted volumes as whole hundred-millionths of a MWh, of which each period's sum is exactly zero.

    What rounding leaves goes to the largest part of the period.
    """
    units = np.rint(netted_kw * _UNITS_PER_KW_PERIOD).astype(np.int64)
    if not units.size:
        return units
    largest = np.argmax(np.abs(units), axis=0)
    units[largest, np.arange(units.shape[1])] -= units.sum(axis=0)
    return units


def subtract_unserved(power_kw: Floats, netting: Netting, unserved_kw: Floats) -> Floats:
    """The powers after what the batteries could not serve is taken from its side, pro rata."""
    share = np.zeros_like(unserved_kw)
    side_kw = np.where(unserved_kw > 0, netting.exports_kw, netting.imports_kw)
    np.divide(np.abs(unserved_kw), side_kw, out=share, where=side_kw > 0)
    concerned = np.sign(power_kw) == np.sign(unserved_kw)
    return np.where(concerned, power_kw * (1.0 - np.minimum(share, 1.0)), power_kw)
