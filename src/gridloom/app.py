"""The service put together: which rooms answer, and what lives as long as the process."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from types import ModuleType
from typing import Any

from gridloom.ancillary import routes as ancillary
from gridloom.ancillary.gates import TenderGates
from gridloom.auctions import bid_batching
from gridloom.auctions import results as auction_results
from gridloom.auctions import routes as auctions
from gridloom.capacity.model import ReserveMinutes
from gridloom.delivery import routes as delivery
from gridloom.delivery.acknowledgements import routes as delivery_acknowledgements
from gridloom.delivery.performance import routes as delivery_performance
from gridloom.delivery.positions import routes as delivery_positions
from gridloom.exchange_notifications import routes as exchange_notifications
from gridloom.exchange_notifications.message import DocumentReceiver
from gridloom.feeds import lifespan as feeds_lifespan
from gridloom.feeds import routes as feeds
from gridloom.kernel.market_stages import Stage
from gridloom.logbook import routes as logbook
from gridloom.markets.benchmark import routes as benchmark
from gridloom.markets.day import routes as market_day
from gridloom.markets.orders import routes as orders
from gridloom.markets.plans import routes as market_plans
from gridloom.markets.stage_calendar import OrderGates
from gridloom.monitoring import lifespan as monitoring
from gridloom.monitoring import routes as monitoring_routes
from gridloom.monitoring import write_routes as monitoring_write_routes
from gridloom.optimiser import lifespan as optimiser
from gridloom.optimiser.backtests import routes as backtests
from gridloom.optimiser.forecasts import routes as forecasts
from gridloom.optimiser.headroom import routes as headroom
from gridloom.optimiser.schedules import routes as proposals
from gridloom.optimiser.valuations import routes as valuations
from gridloom.physical_assets import routes as physical_assets
from gridloom.physical_assets.availability import routes as availability
from gridloom.physical_assets.commitments import routes as commitments
from gridloom.physical_assets.fleets import routes as fleets
from gridloom.physical_assets.grants import routes as grants
from gridloom.physical_assets.health import routes as asset_health
from gridloom.physical_assets.metadata import routes as metadata
from gridloom.physical_assets.schedule import routes as physical_schedule
from gridloom.platform.audit import routes as audit_routes
from gridloom.platform.audit.recording import record_audit
from gridloom.platform.console import application as console
from gridloom.platform.console import routes as console_routes
from gridloom.platform.console import sso_routes
from gridloom.platform.database.listener import Listener
from gridloom.platform.database.pool import Pool, create_pool, detect_distribution
from gridloom.platform.database.replicas import Replicas, follow_replica
from gridloom.platform.events import routes as events
from gridloom.platform.guide import openapi_pages
from gridloom.platform.guide.openapi_pages import OpenApiDocument
from gridloom.platform.health_checks import HealthCheck, HealthChecks
from gridloom.platform.http import operations_of
from gridloom.platform.http.admit import TrustedProxies
from gridloom.platform.http.application import Application
from gridloom.platform.http.run import POSITION
from gridloom.platform.http.shares import Shares
from gridloom.platform.identity import (
    api_key_routes,
    auth_routes,
    invitation_routes,
    member_credential_routes,
    organisation_routes,
    session_routes,
    usage_routes,
)
from gridloom.platform.identity import lifespan as identity
from gridloom.platform.identity.authorization import reauthorize_replay
from gridloom.platform.identity.second_factor import routes as second_factor
from gridloom.platform.identity.single_sign_on import provider_routes as identity_providers
from gridloom.platform.release import release_name
from gridloom.platform.tracing import start_tracing, stop_tracing
from gridloom.platform.webhooks import routes as webhooks
from gridloom.platform.worker import health
from gridloom.platform.worker.health import DiskSpaceCheck, NodeCheck, ReplicaCheck, standard_checks
from gridloom.platform.worker.lifespans import (
    Lifespan,
    close_idle_connections,
    deliver_webhooks,
    end_streams_on_signal,
    give_memory_back,
    run_jobs,
    sequence_events,
    stream_events,
)
from gridloom.platform.worker.process_metrics import measure_process
from gridloom.platform.worker.transport_security import WithTransportSecurity
from gridloom.reference_prices import routes as reference_prices
from gridloom.revenue import routes as revenue
from gridloom.revenue.statement import routes as revenue_statements
from gridloom.sandbox import routes as sandbox
from gridloom.sandbox import simulated_clock as sandbox_walking
from gridloom.sandbox import simulator_routes as sandbox_simulator
from gridloom.sandbox.simulator.credentials import member_name, read_credentials
from gridloom.sandbox.simulator.scenario import ORGANISATIONS
from gridloom.settings import Settings
from gridloom.settlements import routes as settlements
from gridloom.statements import routes as statements
from gridloom.unavailability import routes as unavailability
from gridloom.virtual_assets import portfolio_schedules, portfolios
from gridloom.virtual_assets import routes as virtual_assets
from gridloom.virtual_assets.blocks import routes as virtual_asset_blocks
from gridloom.virtual_assets.history import routes as virtual_asset_history
from gridloom.virtual_assets.schedule import routes as virtual_asset_schedule
from gridloom.virtual_assets.state_of_energy import routes as virtual_asset_energy
from gridloom.wiring import provide_dependencies

ROUTE_MODULES: tuple[ModuleType, ...] = (
    auth_routes,
    second_factor,
    sso_routes,
    session_routes,
    api_key_routes,
    organisation_routes,
    invitation_routes,
    member_credential_routes,
    usage_routes,
    identity_providers,
    physical_assets,
    physical_schedule,
    metadata,
    availability,
    commitments,
    asset_health,
    grants,
    fleets,
    unavailability,
    exchange_notifications,
    logbook,
    ancillary,
    monitoring_routes,
    monitoring_write_routes,
    virtual_assets,
    virtual_asset_blocks,
    virtual_asset_schedule,
    virtual_asset_energy,
    virtual_asset_history,
    portfolios,
    portfolio_schedules,
    auctions,
    auction_results,
    delivery,
    delivery_acknowledgements,
    delivery_positions,
    delivery_performance,
    settlements,
    revenue,
    revenue_statements,
    statements,
    reference_prices,
    feeds,
    proposals,
    forecasts,
    headroom,
    valuations,
    backtests,
    market_day,
    orders,
    market_plans,
    benchmark,
    events,
    webhooks,
    audit_routes,
    console_routes,
    health,
    openapi_pages,
)
"""The modules whose operations the service answers, in the order in which the documentation shows them."""

SANDBOX_ROUTE_MODULES: tuple[ModuleType, ...] = (sandbox, sandbox_simulator)
"""Operations of a sandbox; production does not have these paths."""

LIFESPANS: tuple[Lifespan, ...] = (
    end_streams_on_signal,
    close_idle_connections,
    give_memory_back,
    measure_process,
    identity.lifespan,
    console.lifespan,
    sequence_events,
    stream_events,
    deliver_webhooks,
    monitoring.lifespan,
    bid_batching.bid_batcher_lifespan,
    optimiser.optimiser_lifespan,
    feeds_lifespan.lifespan,
    run_jobs,
)
"""Lifespans of each process: entered in this order once the pool is open, left in the reverse."""

SANDBOX_LIFESPANS: tuple[Lifespan, ...] = (sandbox_walking.lifespan,)
"""Lifespans of a sandbox."""


def _make_gates(settings: Settings) -> TenderGates:
    return TenderGates(
        fcr_day_before=settings.gate_closure_fcr,
        afrr_capacity_day_before=settings.gate_closure_afrr_capacity,
        afrr_energy_lead=timedelta(minutes=settings.gate_closure_afrr_energy_minutes),
        opens_at=settings.gate_opening,
        fcr_days_ahead=settings.gate_opening_fcr_days,
        afrr_days_ahead=settings.gate_opening_afrr_days,
    )


def _order_gates(settings: Settings) -> OrderGates:
    leads = {stage: timedelta(seconds=settings.order_lead_s(stage)) for stage in Stage}
    return OrderGates(_make_gates(settings), leads)


def _reserve_minutes(settings: Settings) -> ReserveMinutes:
    return ReserveMinutes(
        settings.reserve_minutes_fcr, settings.reserve_minutes_afrr, settings.reserve_minutes_afrr_energy
    )


def _health_checks(settings: Settings, replicas: Replicas | None) -> HealthChecks:
    more: list[HealthCheck] = []
    if settings.is_embedded:
        more.append(DiskSpaceCheck(settings.home).check_disk)
    else:
        more.append(NodeCheck().check_nodes)
    if replicas is not None:
        more.append(ReplicaCheck(replicas).check_replicas)
    return standard_checks(*more)


async def _connect_replicas(primary: Pool, settings: Settings) -> Replicas | None:
    """Those that the settings name, none of which need be there at the start."""
    if not settings.read_database_urls:
        return None
    found = [
        await follow_replica(f"replica {number}", url, settings.pool_size)
        for number, url in enumerate(settings.read_database_urls, start=1)
    ]
    return Replicas(primary, found)


def _make_shares(settings: Settings) -> Shares:
    """The sandbox's own simulator is exempt; its members are known by the secret in the sandbox's home."""
    credentials = read_credentials(settings.home) if settings.environment == "sandbox" and settings.simulator else None
    slugs = ("operator", *(organisation.slug for organisation in ORGANISATIONS))
    return Shares(
        settings.shares,
        replica=f"{socket.gethostname()}:{settings.port}",
        exempt_usernames=frozenset()
        if credentials is None
        else frozenset(member_name(credentials, slug) for slug in slugs),
    )


def create_edge(settings: Settings) -> Application:
    """The service without anything around it."""
    provide_dependencies()

    @asynccontextmanager
    async def lifespan(edge: Application) -> AsyncIterator[None]:
        assert settings.database_url is not None
        if settings.traces_url is not None:
            start_tracing(settings.traces_url, settings.traces_percent, release_name())
        edge.pool = await create_pool(settings.database_url, size=settings.pool_size)
        await detect_distribution(edge.pool)
        edge.replicas = await _connect_replicas(edge.pool, settings)
        listener = Listener(settings.database_url)
        edge.resources.add(_make_gates(settings))
        edge.resources.add(_order_gates(settings))
        edge.resources.add(_reserve_minutes(settings))
        for resource in (
            settings,
            edge.shares,
            OpenApiDocument(edge, settings),
            _health_checks(settings, edge.replicas),
            listener,
            DocumentReceiver(settings.document_receiver_eic),
        ):
            edge.resources.add(resource)
        edge.audit = record_audit
        edge.check_replay = reauthorize_replay
        async with AsyncExitStack() as stack:
            stack.push_async_callback(stop_tracing)
            stack.push_async_callback(edge.pool.close)
            if edge.replicas is not None:
                stack.push_async_callback(edge.replicas.stop)
                await edge.replicas.start()
            for room_lifespan in (*LIFESPANS, *(SANDBOX_LIFESPANS if settings.environment == "sandbox" else ())):
                await stack.enter_async_context(room_lifespan(edge, settings))
            stack.push_async_callback(listener.stop)
            await listener.start()
            yield

    rooms = (*ROUTE_MODULES, *SANDBOX_ROUTE_MODULES) if settings.environment == "sandbox" else ROUTE_MODULES
    return Application(
        operations_of(*rooms),
        lifespan=lifespan,
        public_requests_per_minute=settings.public_rate_limit_per_minute,
        proxies=TrustedProxies(settings.trusted_proxies, trusts_any=settings.trusts_proxy),
        shares=_make_shares(settings),
        logs_every_request=settings.access_log,
    )


def create_app(settings: Settings) -> Any:
    """The ASGI application."""
    application = _create_application(settings)
    return WithTransportSecurity(application) if settings.is_behind_tls else application


def _create_application(settings: Settings) -> Any:
    edge = create_edge(settings)
    if not settings.cors_origins:
        return console.ConsoleMiddleware(edge)
    from starlette.middleware.cors import CORSMiddleware  # only where it is asked for: it costs a start its time

    open_to_origins = CORSMiddleware(
        edge,  # type: ignore[arg-type]
        allow_origins=settings.cors_origins,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=[
            "Authorization",
            "Content-Type",
            "Idempotency-Key",
            "If-Match",
            "Last-Event-ID",
            "X-Request-Id",
            POSITION,
        ],
        expose_headers=[
            "ETag",
            "Link",
            "X-Request-Id",
            "RateLimit",
            "RateLimit-Policy",
            "Idempotency-Replayed",
            "Retry-After",
            POSITION,
        ],
    )
    return console.ConsoleMiddleware(edge, behind=open_to_origins)
