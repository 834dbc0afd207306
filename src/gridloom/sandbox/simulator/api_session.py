"""How the simulator speaks to the service: as a member of each organisation, through the SDK."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx2
import msgspec
import structlog

from gridloom.sandbox.simulator.keep_alive_transport import KeepAliveTransport
from gridloom_client import (
    JSON,
    AsyncClient,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    ProblemError,
    RetryPolicy,
    UnprocessableError,
)
from gridloom_client.client import trust_certificates

log = structlog.get_logger()

RequestRejected = (ConflictError, UnprocessableError, ForbiddenError, NotFoundError)
"""Answers that end an attempt but not the world: another caller was first, or a rule says no."""


class ApiSession:
    """One member of one organisation."""

    def __init__(self, client: AsyncClient, organisation_id: str) -> None:
        self.client = client
        self.organisation_id = organisation_id

    async def get(self, target: str) -> Any:
        return msgspec.json.decode((await self.client.call("GET", target)).content)

    async def get_with_etag(self, target: str) -> tuple[Any, str]:
        reply = await self.client.call("GET", target)
        return msgspec.json.decode(reply.content), reply.headers["etag"]

    async def post(self, target: str, body: Any, key: str) -> Any:
        """Under a key made of the seed, the step and what is done: sent again after a crash it changes nothing."""
        headers = {"Idempotency-Key": key, "Content-Type": JSON}
        reply = await self.client.call("POST", target, msgspec.json.encode(body), headers=headers)
        return msgspec.json.decode(reply.content) if reply.content else None

    async def put(self, target: str, body: Any) -> Any:
        reply = await self.client.call("PUT", target, msgspec.json.encode(body), headers={"Content-Type": JSON})
        return msgspec.json.decode(reply.content) if reply.content else None

    async def send(self, target: str, body: bytes, content_type: str) -> Any:
        reply = await self.client.call("POST", target, body, headers={"Content-Type": content_type})
        return msgspec.json.decode(reply.content)


Connect = Callable[[str, str], AsyncClient]
"""A client for a user name and a password."""


def connect_to(url: str) -> Connect:
    address = httpx2.URL(url)
    # One for all members: to read the certificate authorities takes as long as a dozen requests.
    trusted = httpx2.create_ssl_context(trust_certificates(verify=True)) if address.scheme == "https" else True

    def connect(username: str, password: str) -> AsyncClient:
        return AsyncClient(
            url,
            username=username,
            password=password,
            retries=RetryPolicy(attempts=5),
            timeout_s=60.0,
            verify=trusted,
            transport=KeepAliveTransport(address.host, address.port or 80) if address.scheme == "http" else None,
        )

    return connect


def record_rejection(doing: str, problem: ProblemError) -> None:
    log.debug("simulator.refused", doing=doing, status=problem.status, detail=str(problem))


def written(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
