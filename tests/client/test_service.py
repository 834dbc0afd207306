"""The clients against the real service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import httpx2
import pytest
from tests.people import OPERATOR_USERNAME, PASSWORD

from gridloom.platform.http.application import Application
from gridloom_client import (
    AsyncClient,
    BadRequestError,
    CredentialsError,
    InMemoryTokenStore,
    NotFoundError,
    PreconditionFailedError,
    Tokens,
    UnauthenticatedError,
    UnprocessableError,
)
from gridloom_client.answers import Organisation


@pytest.fixture
async def client(app: Application, operator: httpx2.AsyncClient) -> AsyncIterator[AsyncClient]:
    """The SDK in this process, as the operator's ADMIN."""
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)  # type: ignore[arg-type]
    async with AsyncClient(
        "http://gridloom.test", username=OPERATOR_USERNAME, password=PASSWORD, transport=transport
    ) as made:
        yield made


async def ask_for_two_seconds(client: AsyncClient) -> None:
    """A logout is known everywhere within a second."""
    for _ in range(20):
        await client.auth.me()
        await asyncio.sleep(0.1)


class TestClientOfTheService:
    async def test_renews_its_tokens_once_for_many_calls_at_once(self, client: AsyncClient):
        old = await client.sign_in()
        client._exchange.store.save(
            Tokens(access_token=old.access_token, refresh_token=old.refresh_token, expires_at=time.time())
        )
        await asyncio.gather(*(client.auth.me() for _ in range(10)))
        new = client._exchange.store.load()
        assert new is not None
        assert new.refresh_token != old.refresh_token
        assert (await client.auth.refresh(refresh_token=new.refresh_token or "")).access_token

    async def test_without_a_password_says_that_the_session_has_ended(self, app: Application, client: AsyncClient):
        tokens = await client.sign_in()
        await client.auth.logout()
        transport = httpx2.ASGITransport(app=app)  # type: ignore[arg-type]
        async with AsyncClient("http://gridloom.test", tokens=InMemoryTokenStore(tokens), transport=transport) as other:
            with pytest.raises(CredentialsError):
                await ask_for_two_seconds(other)

    async def test_raises_the_problem_that_the_service_answers(self, client: AsyncClient):
        with pytest.raises(NotFoundError) as missing:
            await client.organisations.get("01890000-0000-7000-8000-000000000001")
        assert missing.value.request_id
        with pytest.raises(BadRequestError) as malformed:
            await client.organisations.create(name="", kind="PARTICIPANT")
        assert malformed.value.errors[0].pointer == "/name"
        wrong = AsyncClient("http://gridloom.test", api_key="wrong", transport=client._runner.client._transport)
        with pytest.raises(UnauthenticatedError):
            await wrong.auth.me()

    async def test_has_its_post_carried_out_once_under_one_key(self, client: AsyncClient):
        operation = type(client.organisations).create
        request = operation.request(name="Once", kind="PARTICIPANT")
        first, again = [await client._runner.run(operation.answer(client._exchange, request)) for _ in range(2)]
        assert first.value.id == again.value.id
        assert (first.is_replayed, again.is_replayed) == (False, True)
        other = operation.request(name="Twice", kind="PARTICIPANT").with_headers(
            Idempotency_Key=request.headers["Idempotency-Key"]
        )
        with pytest.raises(UnprocessableError) as reused:
            await client._runner.run(operation.answer(client._exchange, other))
        assert reused.value.name == "idempotency-key-reused"

    async def test_changes_only_what_it_has_seen(self, client: AsyncClient):
        made = await client.organisations.create(name="Before", kind="PARTICIPANT")
        seen = await client.organisations.get.answer(made.id)
        assert seen.etag is not None
        await client.organisations.update(made.id, name="After", if_match=seen.etag)
        with pytest.raises(PreconditionFailedError):
            await client.organisations.update(made.id, name="Lost", if_match=seen.etag)

    async def test_pages_through_a_collection(self, client: AsyncClient):
        made = {(await client.organisations.create(name=f"Page {n}", kind="PARTICIPANT")).id for n in range(5)}
        seen = [organisation async for organisation in client.organisations.list(page_size=2)]
        assert all(isinstance(organisation, Organisation) for organisation in seen)
        assert made <= {organisation.id for organisation in seen}
        assert len({organisation.id for organisation in seen}) == len(seen)

    async def test_says_whether_the_service_is_ready(self, client: AsyncClient):
        assert (await client.platform.live())["status"]
