"""Calls over TLS: to a receiver whose certificate is trusted, in time and made for its name, and to no other."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from standardwebhooks import Webhook as Verifier
from tests.people import People
from tests.platform.events.happening import happen
from tests.platform.webhooks.asking import deliveries, set_up, until_state
from tests.platform.webhooks.conftest import OK, Receiver, answer

from gridloom.platform.http.application import Application
from gridloom.platform.outbound import url_policy
from gridloom.platform.outbound.url_policy import UrlPolicy
from gridloom.platform.webhooks.http_client import WebhookClient

PRODUCTION, SANDBOX = UrlPolicy(is_sandbox=False), UrlPolicy(is_sandbox=True)
HOST = "hooks.example"
NOW = datetime.now(UTC)


def named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


@dataclass
class Authority:
    """Signs certificates for the tests; trusted by them alone."""

    folder: Path

    def __post_init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            self._builder("Authority of the tests", "Authority of the tests", NOW + timedelta(days=2))
            .public_key(self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.file = self.folder / "authority.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def _builder(self, subject: str, issuer: str, until: datetime) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(named(subject))
            .issuer_name(named(issuer))
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - timedelta(days=2))
            .not_valid_after(until)
        )

    def identity(self, host: str, until: datetime = NOW + timedelta(days=1)) -> ssl.SSLContext:
        """What a receiver of this name shows."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            self._builder(host, "Authority of the tests", until)
            .public_key(key.public_key())
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        file = self.folder / f"{host}.pem"
        file.write_bytes(
            certificate.public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        shown.load_cert_chain(file)
        return shown

    def trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.file))


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture(autouse=True)
def played_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url_policy, "resolve_host", lambda _host, _port: ["127.0.0.1"])


@asynccontextmanager
async def receiving_over_tls(shown: ssl.SSLContext, host: str = HOST) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.handle, "127.0.0.1", 0, ssl=shown)
    receiver.url = f"https://{host}:{server.sockets[0].getsockname()[1]}/hook"
    try:
        yield receiver
    finally:
        server.close()


@asynccontextmanager
async def calling(rules: UrlPolicy, trust: ssl.SSLContext | None) -> AsyncIterator[WebhookClient]:
    caller = WebhookClient(rules, trust=trust)
    try:
        yield caller
    finally:
        await caller.close()


class TestACallOverTLS:
    async def test_arrives_where_the_certificate_is_trusted(self, authority: Authority) -> None:
        async with (
            receiving_over_tls(authority.identity(HOST)) as receiver,
            calling(SANDBOX, authority.trusted()) as caller,
        ):
            outcome = await caller.post(receiver.url, {"x-test": "1"}, '{"a": 1}')
        assert (outcome.status, outcome.error) == (204, None)
        assert [call.body for call in receiver.calls] == [b'{"a": 1}']

    async def test_is_not_made_where_the_certificate_is_another_names(self, authority: Authority) -> None:
        async with (
            receiving_over_tls(authority.identity("other.example")) as receiver,
            calling(SANDBOX, authority.trusted()) as caller,
        ):
            outcome = await caller.post(receiver.url, {}, "{}")
        assert outcome.status is None
        assert "Hostname mismatch" in (outcome.error or "")
        assert receiver.calls == []

    async def test_is_not_made_where_the_certificate_has_run_out(self, authority: Authority) -> None:
        async with (
            receiving_over_tls(authority.identity(HOST, until=NOW - timedelta(days=1))) as receiver,
            calling(SANDBOX, authority.trusted()) as caller,
        ):
            outcome = await caller.post(receiver.url, {}, "{}")
        assert outcome.status is None
        assert "certificate has expired" in (outcome.error or "")
        assert receiver.calls == []

    async def test_is_not_made_to_a_private_address_however_good_its_certificate(self, authority: Authority) -> None:
        async with (
            receiving_over_tls(authority.identity(HOST)) as receiver,
            calling(PRODUCTION, authority.trusted()) as caller,
        ):
            outcome = await caller.post(receiver.url, {}, "{}")
        assert outcome.status is None
        assert outcome.error == "127.0.0.1 does not lie in the public internet."
        assert receiver.calls == []


class TestAWebhookOverTLS:
    async def test_gets_events_from_a_service_that_trusts_its_authority(
        self, authority: Authority, fresh_app: Callable[[], Awaitable[Application]], monkeypatch
    ) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        edge = await fresh_app()
        async with People(edge) as people, receiving_over_tls(authority.identity(HOST)) as receiver:
            ours = await people.new_organisation()
            webhook = await set_up(ours, receiver.url)
            await happen(edge.pool, ours.id, 7)
            (call,) = await receiver.wait(1)
            event = Verifier(webhook["secret"]).verify(call.body, call.headers)
            (delivery,) = await until_state(ours, webhook, "DELIVERED")
            assert delivery["eventID"] == event["id"]

    async def test_sees_in_its_log_that_it_is_not_trusted(self, authority: Authority, app, new_organisation) -> None:
        ours = await new_organisation()
        async with receiving_over_tls(authority.identity(HOST)) as receiver:
            webhook = await set_up(ours, receiver.url)
            await happen(app.pool, ours.id)
            async with asyncio.timeout(120):
                while not (found := await deliveries(ours, webhook))[0:1] or not found[0]["attempts"]:
                    await asyncio.sleep(0.05)
        (attempt,) = found[0]["attempts"]
        assert "CERTIFICATE_VERIFY_FAILED" in attempt["error"]
        assert receiver.calls == []

    async def test_that_redirects_has_failed_and_is_not_followed(
        self, authority: Authority, fresh_app: Callable[[], Awaitable[Application]], monkeypatch
    ) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        edge = await fresh_app()
        async with People(edge) as people, receiving_over_tls(authority.identity(HOST)) as receiver:
            elsewhere = receiver.url + "/elsewhere"
            receiver.answering = lambda call: answer(307, Location=elsewhere) if call.path == "/hook" else OK
            ours = await people.new_organisation()
            webhook = await set_up(ours, receiver.url)
            await happen(edge.pool, ours.id)
            await receiver.wait(1)
            async with asyncio.timeout(120):
                while not (found := await deliveries(ours, webhook))[0]["attempts"]:
                    await asyncio.sleep(0.05)
            assert [attempt["status"] for attempt in found[0]["attempts"]] == [307]
            assert found[0]["state"] != "DELIVERED"
            assert [call.path for call in receiver.calls] == ["/hook"]
