"""What rooms need from the floors above them, given in one place, whichever way a process was started.

A room says what it needs (`kernel.need.Need`); `wire` gives it. Every entry point that does any of the platform's work
calls it first: the service, the commands, processes that only run jobs.
"""

from __future__ import annotations

from types import ModuleType
from typing import Final

from gridloom import edge_retention, key_expiry
from gridloom.ancillary.awards import RECORD_AWARDS
from gridloom.auctions import clearing
from gridloom.auctions.store import was_invited
from gridloom.delivery.performance import deviations
from gridloom.delivery.performance.recording import record_folded_day
from gridloom.delivery.runs import due_gates
from gridloom.delivery.runs import run as dispatch_runs
from gridloom.events import retention as event_retention
from gridloom.jobs import jobs_of, know
from gridloom.kernel.need import Need
from gridloom.monitoring import quota as telemetry_quota
from gridloom.monitoring.folding import jobs as telemetry_folding
from gridloom.monitoring.folding.day_folding import RECORD_FOLDED_DAY
from gridloom.monitoring.reading.latest import latest_of_asset
from gridloom.optimiser.backtests import jobs as backtest_jobs
from gridloom.optimiser.forecasts import publishing as forecast_publishing
from gridloom.optimiser.forecasts.computing import delete_computed_forecasts
from gridloom.optimiser.schedules import jobs as optimisation_jobs
from gridloom.physical_assets.availability.changes import LOOK_AT_BACKED, TELL_HOLDERS
from gridloom.physical_assets.commitments.conflicts import book_conflicts
from gridloom.physical_assets.conflicts import CONFLICT_FINDERS
from gridloom.physical_assets.grants.routes import WAS_INVITED
from gridloom.physical_assets.telemetry import LATEST_TELEMETRY
from gridloom.reference_prices.routes import PRICES_CHANGED
from gridloom.settlements.activations import read_activated, read_activated_as_of
from gridloom.settlements.provisional import record_provisional_awards
from gridloom.statements import issuing as statement_issuing
from gridloom.virtual_assets.energy.activations import READ_ACTIVATED, READ_ACTIVATED_AS_OF
from gridloom.virtual_assets.gate_closure import revalidation
from gridloom.virtual_assets.gate_closure.availability_news import look_at_backed, tell_holders
from gridloom.virtual_assets.gate_closure.conflicts import block_conflicts
from gridloom.webhooks import retention as webhook_retention

JOB_ROOMS: Final[tuple[ModuleType, ...]] = (
    backtest_jobs,
    clearing,
    deviations,
    dispatch_runs,
    edge_retention,
    event_retention,
    forecast_publishing,
    due_gates,
    key_expiry,
    optimisation_jobs,
    revalidation,
    statement_issuing,
    telemetry_folding,
    telemetry_quota,
    webhook_retention,
)
"""The modules that declare jobs."""


def wire() -> None:
    """Any number of times: it gives the same each time."""
    know(*jobs_of(*JOB_ROOMS))
    LATEST_TELEMETRY.give(latest_of_asset)
    READ_ACTIVATED.give(read_activated)
    READ_ACTIVATED_AS_OF.give(read_activated_as_of)
    RECORD_FOLDED_DAY.give(record_folded_day)
    RECORD_AWARDS.give(record_provisional_awards)
    WAS_INVITED.give(was_invited)
    LOOK_AT_BACKED.give(look_at_backed)
    TELL_HOLDERS.give(tell_holders)
    PRICES_CHANGED.give(delete_computed_forecasts)
    CONFLICT_FINDERS.give((book_conflicts, block_conflicts))
    unmet = [need.what for need in Need.declared if not need.is_met]
    assert not unmet, f"nobody gives {', '.join(unmet)}"
