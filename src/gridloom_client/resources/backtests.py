"""Past days played again."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from gridloom_client.answers import Backtest, BacktestDay
from gridloom_client.inputs import BacktestBattery
from gridloom_client.literals import BacktestPolicy, BacktestSeries
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.wire import ID


class Backtests(Resource[M]):
    """EUR, kW and kWh."""

    @operation("POST", "/backtests")
    def create(
        self,
        *,
        start: date | str,
        end: date | str,
        battery: BacktestBattery | Mapping[str, Any],
        policy: BacktestPolicy = "FORECAST",
        series: BacktestSeries | None = None,
        idempotency_key: str | None = None,
    ) -> Backtest:
        """Ask for it again until `status` is DONE."""

    @collection("/backtests")
    def list(self, *, page_size: int | None = None) -> Backtest:
        """The newest first."""

    @operation("GET", "/backtests/{backtestID}")
    def get(self, backtest_id: ID) -> Backtest: ...

    @collection("/backtests/{backtestID}/days")
    def days(self, backtest_id: ID, *, page_size: int | None = None) -> BacktestDay: ...
