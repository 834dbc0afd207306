"""A category as a column of a table."""

from __future__ import annotations

import numpy as np
import pytest

from gridloom.revenue.categories import CATEGORIES
from gridloom.revenue.rendering import _make_column

pytestmark = pytest.mark.pure

TOTAL, PRICE = CATEGORIES["revenue_wholesale"], CATEGORIES["sell_vwap_wholesale"]


class TestAColumn:
    @pytest.mark.parametrize("category", [TOTAL, PRICE])
    def test_is_empty_where_no_fact_starts(self, category: object) -> None:
        shown = np.array([True, False, True, False])
        column = _make_column(category, np.array([5.0, 0.0, -2.0, 7.0]), shown)  # type: ignore[arg-type]
        assert column.to_pylist() == [5.0, None, -2.0, None]

    def test_is_empty_where_there_is_no_price(self) -> None:
        assert _make_column(PRICE, np.array([5.0, np.nan, 0.0]), None).to_pylist() == [5.0, None, 0.0]
        shown = np.array([True, True, False])
        assert _make_column(PRICE, np.array([5.0, np.nan, 0.0]), shown).to_pylist() == [5.0, None, None]
