"""Volumes of an asset by delivery period: what was bought, sold and activated, upward as export."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom.settlements.measures import POSITION, FactSource, measure_count, positions_of
from gridloom.settlements.period_aggregates import FloatArray, decode_sheets, encode_aggregates
from gridloom.settlements.period_volumes import volumes_of_sheets

pytestmark = pytest.mark.pure


def sheet(source: FactSource, **measures: list[float]) -> FloatArray:
    made = np.zeros((measure_count(source), 2))
    for name, values in measures.items():
        made[POSITION[name] - positions_of(source).start] = values
    return made


class TestSheets:
    def test_of_days_of_different_length_stand_side_by_side(self) -> None:
        """Days around a clock change; one of them has nothing to say."""
        source, widths = FactSource.WHOLESALE, [96, 96, 92, 96, 100]
        rng = np.random.default_rng(3)
        sheets = [rng.uniform(1, 9, (measure_count(source), width)) for width in widths]
        sheets[1][:] = 0.0
        bodies = [encode_aggregates(source, sheet) for sheet in sheets]
        assert bodies[1] is None
        assert decode_sheets(source, bodies, widths).tolist() == np.concatenate(sheets, axis=1).tolist()


class TestVolumes:
    def test_of_activations_are_what_was_exported_less_what_was_imported(self) -> None:
        activations = sheet(FactSource.AFRR_ENERGY, afrr_pos_volume_mwh=[3.0, 1.0], afrr_neg_volume_mwh=[0.5, 4.0])
        found = volumes_of_sheets(sheet(FactSource.WHOLESALE), activations)
        assert found.activated_mwh.tolist() == [2.5, -3.0]

    def test_of_trades_are_bought_and_sold_apart(self) -> None:
        trades = sheet(FactSource.WHOLESALE, buy_volume_mwh=[1.0, 0.0], sell_volume_mwh=[0.25, 2.0])
        found = volumes_of_sheets(trades, sheet(FactSource.AFRR_ENERGY))
        assert (found.bought_mwh.tolist(), found.sold_mwh.tolist()) == ([1.0, 0.0], [0.25, 2.0])
