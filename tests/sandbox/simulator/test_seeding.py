"""What there is before the world begins: what the market has published, and what the operator may do."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from gridloom.kernel.market_time import market_day_of
from gridloom.sandbox.simulator.seeding import OPERATOR_MAY, past_rows

pytestmark = pytest.mark.pure


class TestThePast:
    def test_has_imbalance_prices_of_the_days_that_are_over_and_no_others(self) -> None:
        """The last of the days is the one on which the world begins."""
        first = date(2026, 10, 23)
        rows = past_rows(1, first, 4)
        days = {
            series: sorted(
                {market_day_of(datetime.fromisoformat(row["start"])) for row in rows if row["series"] == series}
            )
            for series in ("DAY_AHEAD_DE_LU", "REBAP_DE")
        }
        whole = [first + timedelta(days=number) for number in range(4)]
        assert days == {"DAY_AHEAD_DE_LU": whole, "REBAP_DE": whole[:-1]}
        assert sum(row["series"] == "REBAP_DE" for row in rows) == 96 + 96 + 100


class TestTheOperator:
    def test_may_do_with_batteries_what_it_does_with_them(self) -> None:
        interface = msgspec.json.decode((Path(__file__).parents[3] / "openapi.json").read_bytes())
        asked = [
            ("/physical-assets/{physicalAssetID}", "get"),
            ("/physical-assets/{physicalAssetID}/dispatch", "get"),
            ("/physical-assets/{physicalAssetID}/ancillary/results", "post"),
            ("/monitoring/datapoints", "post"),
        ]
        needed = {interface["paths"][path][method]["x-permission"] for path, method in asked}
        assert needed <= set(OPERATOR_MAY), "grants of the batteries' owners"
