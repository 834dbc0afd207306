"""The gates of orders: the exchange's, each less the lead of its stage."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from gridloom.ancillary.gates import TenderGates
from gridloom.kernel.market_stages import STAGES, Stage
from gridloom.markets.stage_calendar import OrderGates
from gridloom.settings import parse_settings

pytestmark = pytest.mark.pure
DAY = date(2026, 3, 29)
"""The day that loses an hour: the evening before is an hour from UTC, its morning two."""


def gates_by(tmp_path: Path, **environ: str) -> dict[str, str]:
    variables = {f"GRIDLOOM_{name}": value for name, value in environ.items()}
    settings, faults = parse_settings(variables, tmp_path / "none")
    assert faults == {}
    gates = OrderGates(TenderGates(), {stage: timedelta(seconds=settings.order_lead_s(stage)) for stage in STAGES})
    return {stage.value: f"{gates.gate(stage, DAY):%d %H:%M}" for stage in STAGES}


class TestTheGates:
    def test_are_the_exchanges_in_a_sandbox_and_earlier_in_production(self, tmp_path: Path):
        assert list(gates_by(tmp_path, ENVIRONMENT="sandbox").values()) == [
            "28 07:00", "28 08:00", "28 11:00", "28 14:00", "28 21:00", "29 08:00",
        ]  # fmt: skip
        assert list(gates_by(tmp_path, ENVIRONMENT="production").values()) == [
            "28 06:00", "28 07:00", "28 10:50", "28 13:50", "28 20:50", "29 07:50",
        ]  # fmt: skip

    def test_follow_the_leads_that_are_set(self, tmp_path: Path):
        found = gates_by(tmp_path, ENVIRONMENT="production", ORDER_LEADS="IDA1=900, FCR=0")
        assert (found["IDA1"], found["FCR"], found["IDA2"]) == ("28 13:45", "28 07:00", "28 20:50")

    def test_of_words_that_are_no_leads_are_refused_by_name(self, tmp_path: Path):
        for text in ("IDA4=1", "IDA1", "IDA1=-5", "IDA1=a"):
            _, faults = parse_settings({"GRIDLOOM_ORDER_LEADS": text}, tmp_path / "none")
            assert list(faults) == ["GRIDLOOM_ORDER_LEADS"], text
            assert Stage.IDA1 in faults["GRIDLOOM_ORDER_LEADS"]
