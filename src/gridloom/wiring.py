"""Provides each package with its dependencies on packages above it, in one place for every kind of process.

A package declares a dependency (`kernel.dependency.Dependency`); `provide_dependencies` provides it. Every entry point
that works on the platform's data calls it first: the service, the commands, processes that only run jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Final

from gridloom.ancillary.awards import RECORD_AWARDS
from gridloom.auctions import clearing
from gridloom.auctions.store import was_invited
from gridloom.delivery.dispatch.stored_energy import read_stored_kwh
from gridloom.delivery.failures import recording as failure_recording
from gridloom.delivery.performance import deviations
from gridloom.delivery.performance.recording import record_folded_day
from gridloom.delivery.performance.routes import READ_EARNED_PER_MW
from gridloom.delivery.runs import drift, due_gates
from gridloom.delivery.runs import run as dispatch_runs
from gridloom.delivery.runs.drift import READ_PRICE_FORECAST, enqueue_trades
from gridloom.delivery.runs.store import read_failed_at
from gridloom.feeds import jobs as feed_jobs
from gridloom.feeds.recording import restore_values
from gridloom.kernel.dependency import Dependency
from gridloom.markets.orders import notifications as order_notifications
from gridloom.markets.store import has_waiting_order
from gridloom.monitoring import quota as telemetry_quota
from gridloom.monitoring.compaction import jobs as telemetry_folding
from gridloom.monitoring.compaction.day_compaction import RECORD_FOLDED_DAY
from gridloom.monitoring.query.latest import latest_of_asset
from gridloom.optimiser.backtests import jobs as backtest_jobs
from gridloom.optimiser.forecasts import publishing as forecast_publishing
from gridloom.optimiser.forecasts.computing import delete_computed_forecasts, read_median_prices
from gridloom.optimiser.schedules import jobs as optimisation_jobs
from gridloom.physical_assets.availability.changes import EMIT_AVAILABILITY_CHANGED, READ_BACKED_AVAILABILITY
from gridloom.physical_assets.commitments.conflicts import book_conflicts
from gridloom.physical_assets.conflicts import CONFLICT_FINDERS
from gridloom.physical_assets.grants.routes import WAS_INVITED
from gridloom.physical_assets.health.routes import DISPATCH_FAILED_AT
from gridloom.physical_assets.telemetry import LATEST_TELEMETRY
from gridloom.platform.database.pool import Database
from gridloom.platform.events.outbox import record_event
from gridloom.platform.identity.member_notices import RECORD_EVENT
from gridloom.platform.jobs import jobs_of, register_jobs
from gridloom.platform.upkeep import key_expiry, retention
from gridloom.reference_prices.model import PublishedPrice
from gridloom.reference_prices.routes import PRICES_CHANGED, RESTORE_PRICES
from gridloom.revenue.earned import read_earned_per_mw
from gridloom.settlements.activations import read_activated, read_activated_as_of
from gridloom.settlements.provisional import record_provisional_awards
from gridloom.statements import issuing as statement_issuing
from gridloom.unavailability.preview import READ_STORED_KWH
from gridloom.virtual_assets.allocation import HAS_WAITING_ORDER
from gridloom.virtual_assets.gate_closure import revalidation
from gridloom.virtual_assets.gate_closure.conflicts import block_conflicts
from gridloom.virtual_assets.gate_closure.notifications import emit_availability_changed, read_backed_availability
from gridloom.virtual_assets.schedule.projection_input import READ_ACTIVATED, READ_ACTIVATED_AS_OF

JOB_MODULES: Final[tuple[ModuleType, ...]] = (
    backtest_jobs,
    clearing,
    deviations,
    dispatch_runs,
    forecast_publishing,
    drift,
    due_gates,
    failure_recording,
    feed_jobs,
    key_expiry,
    optimisation_jobs,
    order_notifications,
    retention,
    revalidation,
    statement_issuing,
    telemetry_folding,
    telemetry_quota,
)
"""The modules that declare jobs."""


async def _follow_prices(db: Database, prices: Sequence[PublishedPrice]) -> None:
    await delete_computed_forecasts(db, prices)
    await enqueue_trades(db, prices)


def provide_dependencies() -> None:
    """Any number of times: it gives the same each time."""
    register_jobs(*jobs_of(*JOB_MODULES))
    LATEST_TELEMETRY.provide(latest_of_asset)
    READ_ACTIVATED.provide(read_activated)
    READ_STORED_KWH.provide(read_stored_kwh)
    READ_ACTIVATED_AS_OF.provide(read_activated_as_of)
    RECORD_FOLDED_DAY.provide(record_folded_day)
    RECORD_AWARDS.provide(record_provisional_awards)
    WAS_INVITED.provide(was_invited)
    READ_BACKED_AVAILABILITY.provide(read_backed_availability)
    EMIT_AVAILABILITY_CHANGED.provide(emit_availability_changed)
    PRICES_CHANGED.provide(_follow_prices)
    RESTORE_PRICES.provide(restore_values)
    READ_PRICE_FORECAST.provide(read_median_prices)
    DISPATCH_FAILED_AT.provide(read_failed_at)
    RECORD_EVENT.provide(record_event)
    READ_EARNED_PER_MW.provide(read_earned_per_mw)
    HAS_WAITING_ORDER.provide(has_waiting_order)
    CONFLICT_FINDERS.provide((book_conflicts, block_conflicts))
    unmet = [need.description for need in Dependency.registry if not need.is_provided]
    assert not unmet, f"not provided: {', '.join(unmet)}"
