"""The console's lifespan in each worker: the tokens of its sessions, and where its own pages live."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from gridloom.console.rules import AllowedOrigins
from gridloom.console.sessions import ConsoleSessions
from gridloom.edge.application import Application
from gridloom.identity.signing_key_cache import SigningKeyCache
from gridloom.settings import Settings


@contextlib.asynccontextmanager
async def lifespan(edge: Application, settings: Settings) -> AsyncIterator[None]:
    is_production = settings.environment == "production"
    own = settings.base_url if is_production else settings.sandbox_base_url
    addresses = (own,) if is_production else (own, settings.base_url)
    edge.resources.add(AllowedOrigins(tuple(filter(None, addresses)), is_sandbox=not is_production))
    edge.resources.add(ConsoleSessions(edge.pool, edge.resources[SigningKeyCache], is_production=is_production))
    yield
