"""Allowed addresses of webhooks, in every spelling of an address."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any

import pytest
from tests.platform.webhooks.conftest import Receiver, answer

from gridloom.platform.outbound import url_policy
from gridloom.platform.outbound.url_policy import AddressNotAllowed, UrlPolicy
from gridloom.platform.webhooks.http_client import WebhookClient

PRODUCTION, SANDBOX = UrlPolicy(is_sandbox=False), UrlPolicy(is_sandbox=True)

LOOPBACK = [
    "https://127.0.0.1/",
    "https://127.1/",
    "https://127.255.255.254/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.1/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
]
NEVER = [
    "https://10.0.0.1/",
    "https://192.0.0.8/",
    "https://192.0.0.170/",
    "https://192.88.99.1/",
    "https://[3fff::1]/",
    "https://[2001:20::1]/",
    "https://10.0.0.1./",
    "https://example.org./",
    "https://172.16.0.1/",
    "https://192.168.1.1/",
    "https://3232235777/",
    "https://169.254.169.254/latest/meta-data/",
    "https://0xA9FEA9FE/",
    "https://100.64.0.1/",
    "https://0.0.0.0/",
    "https://0/",
    "https://192.0.2.1/",
    "https://198.18.0.1/",
    "https://224.0.0.1/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
    "https://[::]/",
    "https://[fe80::1]/",
    "https://[fe80::1%25eth0]/",
    "https://[fc00::1]/",
    "https://[fd12:3456::1]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[::ffff:a9fe:a9fe]/",
    "https://[::10.0.0.1]/",
    "https://[64:ff9b::10.0.0.1]/",
    "https://[64:ff9b:1::1]/",
    "https://[2002:a00:1::]/",
    "https://[2002:7f00:1::]/",
    "https://[2001:0:53aa:64c::]/",
    "https://[2001:db8::1]/",
    "https://[100::1]/",
]
MALFORMED = [
    "",
    "https://",
    "ftp://example.org/",
    "file:///etc/passwd",
    "gopher://example.org/",
    "//example.org/",
    "example.org",
    "https://user:secret@example.org/",
    "https://user@example.org/",
    "https://example.org/#fragment",
    "https://exa mple.org/",
    "https://example.org/\r\nHost: x",
    "https://[::1/",
    "https://example.org:99999/",
    "https://example.org:0/",
    "https://bücher.example/",
    "https://-x.example/",
    "https://exa$mple.org/",
    "https://.example.org/",
]
PUBLIC = [
    "https://example.org/hook",
    "https://example.org:8443/a?b=c",
    "https://xn--bcher-kva.example/",
    "https://8.8.8.8/",
    "https://[2606:4700::1111]/",
    "https://[64:ff9b::8.8.8.8]/",
]


class TestAnAddress:
    @pytest.mark.parametrize("url", [*LOOPBACK, *NEVER, *MALFORMED, "http://example.org/", "https://localhost/"])
    def test_that_does_not_lead_into_the_world_is_refused_in_production(self, url: str) -> None:
        with pytest.raises(AddressNotAllowed):
            PRODUCTION.check_url(url)

    @pytest.mark.parametrize("url", [*NEVER, *MALFORMED])
    def test_that_leads_elsewhere_than_out_or_home_is_refused_in_the_sandbox_too(self, url: str) -> None:
        with pytest.raises(AddressNotAllowed):
            SANDBOX.check_url(url)

    @pytest.mark.parametrize("url", PUBLIC)
    def test_that_is_public_is_allowed_everywhere(self, url: str) -> None:
        PRODUCTION.check_url(url)
        SANDBOX.check_url(url)

    @pytest.mark.parametrize("url", [*LOOPBACK, "http://127.0.0.1:8000/", "http://localhost/"])
    def test_of_this_machine_is_allowed_in_the_sandbox(self, url: str) -> None:
        SANDBOX.check_url(url)


class TestANameThatIsCalled:
    """Name servers are played by the resolver."""

    @pytest.fixture
    def resolves_to(self, monkeypatch) -> Any:
        def play(*answers: list[str]) -> list[str]:
            asked: list[str] = []
            turns = iter(answers)

            def resolve_host(host: str, _port: int) -> list[str]:
                asked.append(host)
                return next(turns)

            monkeypatch.setattr(url_policy, "resolve_host", resolve_host)
            return asked

        return play

    @pytest.mark.parametrize("address", ["10.0.0.7", "127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.7"])
    async def test_is_refused_when_it_leads_inside(self, resolves_to, address: str) -> None:
        resolves_to([address])
        with pytest.raises(AddressNotAllowed):
            await PRODUCTION.resolve("inside.example", 443)

    async def test_is_refused_when_one_of_its_addresses_leads_inside(self, resolves_to) -> None:
        resolves_to(["8.8.8.8", "10.0.0.7"])
        with pytest.raises(AddressNotAllowed):
            await PRODUCTION.resolve("mixed.example", 443)

    async def test_is_refused_when_the_system_knows_a_second_address_that_leads_inside(self, monkeypatch) -> None:
        """By the resolver itself: every address that it finds is looked at, not the first alone."""

        def getaddrinfo(_host: str, port: int, **_: Any) -> list[Any]:
            return [
                (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))
                for address in ("8.8.8.8", "10.0.0.7")
            ]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        with pytest.raises(AddressNotAllowed, match=r"10\.0\.0\.7"):
            await PRODUCTION.resolve("mixed.example", 443)

    async def test_gives_the_first_of_its_public_addresses(self, resolves_to) -> None:
        resolves_to(["8.8.8.8", "2606:4700::1111"])
        assert await PRODUCTION.resolve("world.example", 443) == ipaddress.ip_address("8.8.8.8")


class TestACall:
    async def test_into_a_private_network_is_not_made(self) -> None:
        caller = WebhookClient(PRODUCTION)
        outcome = await caller.post("https://10.0.0.1/", {}, "{}")
        await caller.close()
        assert outcome.status is None
        assert outcome.error == "10.0.0.1 does not lie in the public internet."

    async def test_does_not_follow_redirects(self, receiver: Receiver) -> None:
        receiver.answering = lambda call: answer(302, Location=receiver.url + "/elsewhere")
        caller = WebhookClient(SANDBOX)
        outcome = await caller.post(receiver.url, {}, "{}")
        await caller.close()
        assert outcome.status == 302
        assert [call.path for call in receiver.calls] == ["/hook"]

    async def test_reads_no_more_than_it_keeps(self, receiver: Receiver) -> None:
        receiver.answering = lambda call: answer(200, b"x\x00" * 5_000_000)
        caller = WebhookClient(SANDBOX)
        outcome = await caller.post(receiver.url, {}, "{}")
        await caller.close()
        assert outcome.body is not None
        assert len(outcome.body) == 4096
        assert "\x00" not in outcome.body

    async def test_ends_once_it_has_read_enough_of_an_answer_without_end(self) -> None:
        async def answer_for_ever(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 100_000)
            await reader.read()
            writer.close()

        caller = WebhookClient(SANDBOX, whole_call_s=5)
        server = await asyncio.start_server(answer_for_ever, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        outcome = await caller.post(f"http://127.0.0.1:{port}/", {}, "{}")
        server.close()
        await caller.close()
        assert (outcome.status, outcome.error) == (200, None)

    async def test_has_an_end(self) -> None:
        caller = WebhookClient(SANDBOX, whole_call_s=0.3)
        server = await asyncio.start_server(lambda r, w: asyncio.sleep(3), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        outcome = await caller.post(f"http://127.0.0.1:{port}/", {}, "{}")
        server.close()
        await caller.close()
        assert outcome.error == "no answer within 0.3 s"
