"""The two clients: `Client` blocks, `AsyncClient` awaits; everything else about them is the same."""

from __future__ import annotations

import copy
import os
import ssl
from collections.abc import Mapping
from functools import cache
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeAlias

import httpx2

from gridloom_client.deferred_tls import DeferredTls
from gridloom_client.display import facts_html
from gridloom_client.effects import Steps
from gridloom_client.operations import M, Resource
from gridloom_client.profiles import Identity, find_identity, find_url
from gridloom_client.resources.auctions import Auctions
from gridloom_client.resources.auth import Auth
from gridloom_client.resources.decisions import Backtests, Forecasts, Optimisations
from gridloom_client.resources.delivery import Delivery
from gridloom_client.resources.events import Events, Webhooks
from gridloom_client.resources.feeds import Feeds
from gridloom_client.resources.markets import Markets
from gridloom_client.resources.monitoring import Monitoring
from gridloom_client.resources.organisations import Organisations
from gridloom_client.resources.physical_assets import Fleets, PhysicalAssets
from gridloom_client.resources.platform import Platform, Sandbox
from gridloom_client.resources.revenue import Revenue
from gridloom_client.resources.settlements import ReferencePrices, Settlements
from gridloom_client.resources.statements import Statements
from gridloom_client.resources.virtual_assets import VirtualAssets
from gridloom_client.retries import RetryPolicy
from gridloom_client.session import ClientSession, new_key
from gridloom_client.tokens import ApiKey, InMemoryTokenStore, Password, Tokens, TokenStore
from gridloom_client.transport import AsyncTransport, SyncTransport
from gridloom_client.wire import JSON, RawResponse, Request, encode_body

USER_AGENT: Final = "gridloom-python"
Verify: TypeAlias = bool | str | os.PathLike[str] | ssl.SSLContext


def _find_caller(
    url: str | None,
    username: str | None,
    password: str | None,
    api_key: str | None,
    tokens: TokenStore | None,
    profile: str | None,
) -> Identity:
    """The identity that is given, or else that of the environment and the profiles; an address alone has none."""
    if profile is not None and (username, password, api_key, tokens) != (None, None, None, None):
        raise ValueError("A profile says who you are: leave username, password, api_key and tokens out.")
    if api_key is not None:
        if username is not None or password is not None:
            raise ValueError("Give an API key or a username and password, not both.")
        return Identity(find_url(url), ApiKey(api_key), tokens)
    if username is not None or password is not None:
        if username is None or password is None:
            raise ValueError("A username needs its password and a password its username.")
        return Identity(find_url(url), Password(username, password), tokens)
    if tokens is not None or (url is not None and profile is None):
        return Identity(find_url(url), None, tokens)
    return find_identity(url, profile)


class Resources(Generic[M]):
    """A surface per domain."""

    def __init__(self, exchange: ClientSession, runner: M) -> None:
        self._exchange = exchange
        self._runner: M = runner
        self.auth: Auth[M] = Auth(exchange, runner)
        self.organisations: Organisations[M] = Organisations(exchange, runner)
        self.physical_assets: PhysicalAssets[M] = PhysicalAssets(exchange, runner)
        self.fleets: Fleets[M] = Fleets(exchange, runner)
        self.virtual_assets: VirtualAssets[M] = VirtualAssets(exchange, runner)
        self.auctions: Auctions[M] = Auctions(exchange, runner)
        self.delivery: Delivery[M] = Delivery(exchange, runner)
        self.reference_prices: ReferencePrices[M] = ReferencePrices(exchange, runner)
        self.feeds: Feeds[M] = Feeds(exchange, runner)
        self.optimisations: Optimisations[M] = Optimisations(exchange, runner)
        self.forecasts: Forecasts[M] = Forecasts(exchange, runner)
        self.markets: Markets[M] = Markets(exchange, runner)
        self.backtests: Backtests[M] = Backtests(exchange, runner)
        self.revenue: Revenue[M] = Revenue(exchange, runner)
        self.monitoring: Monitoring[M] = Monitoring(exchange, runner)
        self.events: Events[M] = Events(exchange, runner)
        self.webhooks: Webhooks[M] = Webhooks(exchange, runner)
        self.settlements: Settlements[M] = Settlements(exchange, runner)
        self.statements: Statements[M] = Statements(exchange, runner)
        self.sandbox: Sandbox[M] = Sandbox(exchange, runner)
        self.platform: Platform[M] = Platform(exchange, runner)

    def with_options(
        self,
        *,
        timeout_s: float | None = None,
        retries: RetryPolicy | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """The same client for calls of another kind; what is left out stays as it is.

        It shares connections and tokens with this one, and is closed with it.

        Args:
            timeout_s: How long to wait for an answer; of a stream, for its beginning
            retries: How patient to be; `NEVER` sends a request once
            headers: Headers of every request, such as `traceparent`
        """
        derived = copy.copy(self)
        Resources.__init__(derived, self._exchange.with_options(timeout_s, retries, headers), self._runner)
        return derived

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._runner.client.base_url)!r}, {self._exchange.caller})"

    def _repr_html_(self) -> str:
        """For notebooks: where and as whom, and what there is."""
        resources = {name: value for name, value in vars(self).items() if isinstance(value, Resource)}
        facts = [(name, ", ".join(each._list_methods())) for name, each in resources.items()]
        return facts_html(repr(self), facts)


class Client(Resources[SyncTransport]):
    """Blocks until the answer is there. Threads may share it; close it, or use it in a `with` statement.

    Without arguments it has the identity of the commands: of the environment (`GRIDLOOM_URL`, `GRIDLOOM_API_KEY`, …),
    of the profile in use, or of the one that `profile` names. `progress` turns the bar of long writes on or off; it is
    shown on terminals and in notebooks. `verify` is the file of the certificate authority that signed the service's
    certificate (else `GRIDLOOM_CA_FILE`, else the system's), an `ssl.SSLContext`, or False to trust any.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        username: str | None = None,
        password: str | None = None,
        api_key: str | None = None,
        tokens: TokenStore | None = None,
        profile: str | None = None,
        retries: RetryPolicy | None = None,
        timeout_s: float = 30.0,
        progress: bool | None = None,
        verify: Verify = True,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        who = _find_caller(url, username, password, api_key, tokens, profile)
        exchange = _open_session(who, retries, show_progress=progress)
        http = httpx2.Client(
            base_url=who.url,
            timeout=timeout_s,
            headers={"User-Agent": USER_AGENT},
            **_choose_transport(who.url, verify, transport),
        )
        super().__init__(exchange, SyncTransport(http))

    def call(self, method: str, target: str, body: Any = None, *, headers: dict[str, str] | None = None) -> RawResponse:
        """Any request, with the caller's token, retries and errors, answered as it is."""
        return self._runner.run(self._exchange.call(_any_request(method, target, body, headers)))

    def sign_in(self) -> Tokens:
        """Exchange the username and password for tokens now, and keep them."""
        return self._runner.run(_signed_in(self._exchange))

    def close(self) -> None:
        self._runner.client.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(Resources[AsyncTransport]):
    """Awaits its answers on asyncio. Tasks may share it; close it, or use it in an `async with` statement.

    Without arguments it has the identity of the commands, as `Client` does.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        username: str | None = None,
        password: str | None = None,
        api_key: str | None = None,
        tokens: TokenStore | None = None,
        profile: str | None = None,
        retries: RetryPolicy | None = None,
        timeout_s: float = 30.0,
        progress: bool | None = None,
        verify: Verify = True,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        who = _find_caller(url, username, password, api_key, tokens, profile)
        exchange = _open_session(who, retries, show_progress=progress)
        http = httpx2.AsyncClient(
            base_url=who.url,
            timeout=timeout_s,
            headers={"User-Agent": USER_AGENT},
            verify=trust_certificates(verify) if transport is None else True,
            transport=transport,
        )
        super().__init__(exchange, AsyncTransport(http))

    async def call(
        self, method: str, target: str, body: Any = None, *, headers: dict[str, str] | None = None
    ) -> RawResponse:
        """Any request, with the caller's token, retries and errors, answered as it is."""
        return await self._runner.run(self._exchange.call(_any_request(method, target, body, headers)))

    async def sign_in(self) -> Tokens:
        """Exchange the username and password for tokens now, and keep them."""
        return await self._runner.run(_signed_in(self._exchange))

    async def aclose(self) -> None:
        await self._runner.client.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def trust_certificates(verify: Verify) -> ssl.SSLContext | bool:
    """The certificate authorities that the service's certificate is checked against."""
    if verify is True:
        verify = os.environ.get("GRIDLOOM_CA_FILE") or True
    if isinstance(verify, str | os.PathLike):
        try:
            return ssl.create_default_context(cafile=os.fspath(verify))
        except (OSError, ssl.SSLError) as error:
            reason = "it holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror
            raise ValueError(f"{os.fspath(verify)} cannot be used as a CA file: {reason}.") from None
    if verify is True:
        return _read_authorities(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return verify


def _choose_transport(url: str, verify: Verify, transport: httpx2.BaseTransport | None) -> dict[str, Any]:
    """A service at `http://` has no certificate to check, unless a proxy or a redirect leads to one."""
    from urllib.request import getproxies

    if transport is not None:
        return {"transport": transport}
    is_plain = url.startswith("http://") and not getproxies()
    if not is_plain:
        return {"verify": trust_certificates(verify)}
    return {"verify": False, "mounts": {"https://": DeferredTls(lambda: trust_certificates(verify))}}


@cache
def _read_authorities(_file: str | None, _directory: str | None) -> ssl.SSLContext:
    """The system's, or those that the environment names. Reading them takes longer than a request: once a process."""
    return httpx2.create_ssl_context()


def _open_session(who: Identity, retries: RetryPolicy | None, *, show_progress: bool | None) -> ClientSession:
    store = who.store or InMemoryTokenStore()
    return ClientSession(who.credentials, store, retries or RetryPolicy(), show_progress=show_progress)


def _any_request(method: str, target: str, body: Any, headers: dict[str, str] | None) -> Request:
    method = method.upper()
    content = body if isinstance(body, bytes) else None if body is None else encode_body(body)
    given = {"Accept": JSON, **({"Content-Type": JSON} if content is not None else {}), **(headers or {})}
    if method == "POST":
        given = {**new_key(), **given}
    return Request(method, "/" + target.lstrip("/"), given, content)


def _signed_in(exchange: ClientSession) -> Steps[Tokens]:
    tokens = yield from exchange.signed_in()
    exchange.store.save(tokens)
    return tokens
