"""Where the service calls: each rule of an address by the address just beside it."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from gridloom.platform.outbound import url_policy
from gridloom.platform.outbound.url_policy import AddressNotAllowed, PinnedAddressBackend, UrlPolicy

pytestmark = pytest.mark.pure

PRODUCTION, SANDBOX = UrlPolicy(is_sandbox=False), UrlPolicy(is_sandbox=True)
OPEN_SANDBOX = UrlPolicy(is_sandbox=True, listens_on_loopback=False)


def refusal(policy: UrlPolicy, url: str) -> str:
    try:
        policy.check_url(url)
    except AddressNotAllowed as refused:
        return refused.detail
    return ""


class TestAnAddress:
    @pytest.mark.parametrize(
        ("url", "words"),
        [
            ("https://example.org/a b", "a blank or a control character"),
            ("https://example.org/\x7f", "a blank or a control character"),
            ("https://example.org:99999/", "is not a URL"),
            ("https://[::1/", "is not a URL"),
            ("ftp://example.org/", "starts with https://."),
            ("http://example.org/", "starts with https://."),
            ("https://ada@example.org/", "user name or password"),
            ("https://:words@example.org/", "user name or password"),
            ("https://example.org/#place", "fragment"),
            ("https:///path", "names no host"),
            ("https://example.org:0/", "names no host"),
            ("https://-example.org/", "names no host"),
            ("https://example..org/", "names no host"),
            ("https://example.org./", "names no host"),
            (f"https://{'a' * 64}.org/", "names no host"),
            (f"https://{'.'.join(['a' * 49] * 5)}.long/", "names no host"),
            ("https://bücher.example/", "outside ASCII"),
            ("https://localhost/", "this machine"),
            ("https://LOCALHOST/", "this machine"),
            ("https://a.localhost/", "this machine"),
            ("https://10.0.0.1/", "does not lie in the public internet"),
        ],
    )
    def test_that_could_never_be_called_is_refused_with_the_reason(self, url: str, words: str) -> None:
        assert words in refusal(PRODUCTION, url)

    @pytest.mark.parametrize(
        "url",
        [
            "https://example.org",
            "https://example.org:65535/a?b=c",
            "https://EXAMPLE.org/",
            "https://localhost.example/",
            "https://notlocalhost/",
            "https://under_score.example/",
            f"https://{'a' * 63}.org/",
            f"https://{'.'.join(['a' * 49] * 5)}.lon/",
            "https://8.8.8.8/",
        ],
    )
    def test_into_the_world_is_allowed(self, url: str) -> None:
        assert refusal(PRODUCTION, url) == refusal(SANDBOX, url) == ""

    def test_of_this_machine_is_for_a_sandbox_that_nothing_else_reaches(self) -> None:
        for url in ("http://localhost/", "http://127.0.0.1:8000/", "https://[::1]/"):
            assert refusal(SANDBOX, url) == ""
            assert refusal(OPEN_SANDBOX, url) != ""
            assert refusal(PRODUCTION, url) != ""
        assert refusal(OPEN_SANDBOX, "http://example.org/") == ""
        assert refusal(SANDBOX, "ftp://example.org/").endswith("https:// or http://.")
        assert refusal(SANDBOX, "http://10.0.0.1/") != ""
        assert [policy.allows_loopback for policy in (SANDBOX, OPEN_SANDBOX, PRODUCTION)] == [True, False, False]


class TestANetworkOfItsOwnKind:
    @pytest.mark.parametrize(
        ("inside", "outside"),
        [
            ("10.255.255.255", "11.0.0.0"),
            ("172.31.255.255", "172.32.0.0"),
            ("192.0.0.255", "192.0.1.0"),
            ("192.88.99.255", "192.88.100.0"),
            ("198.19.255.255", "198.20.0.0"),
            ("224.0.0.0", "223.255.255.254"),
            ("100.127.255.255", "100.128.0.0"),
            ("2001:1ff:ffff::", "2001:200::"),
            ("3fff:fff::", "3ffe::"),
            ("1fff:ffff::", "2400::"),
            ("4000::", "2606:4700::1111"),
            ("64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8"),
            ("64:ff9b:1::808:808", "64:ff9b::808:808"),
            ("::ffff:10.0.0.1", "::ffff:8.8.8.8"),
            ("2002:808:808::", "2003::"),
            ("::8.8.8.8", "::ffff:8.8.4.4"),
            ("5f00::1", "2a00::1"),
        ],
    )
    def test_is_refused_up_to_its_end(self, inside: str, outside: str) -> None:
        with pytest.raises(AddressNotAllowed, match="does not lie in the public internet"):
            PRODUCTION.check(ipaddress.ip_address(inside))
        PRODUCTION.check(ipaddress.ip_address(outside))

    def test_is_that_of_the_address_which_a_packet_reaches(self) -> None:
        reached = {
            "8.8.8.8": "8.8.8.8",
            "::ffff:8.8.8.8": "8.8.8.8",
            "64:ff9b::8.8.8.8": "8.8.8.8",
            "2002:808:808::": "::",
            "2001:0:53aa:64c::": "::",
            "64:ff9b:1::1": "::",
            "::8.8.8.8": "::",
            "::1": "::1",
            "2606:4700::1111": "2606:4700::1111",
        }
        found = {text: str(url_policy.effective_address(ipaddress.ip_address(text))) for text in reached}
        assert found == reached

    def test_is_known_in_every_spelling_of_an_address(self) -> None:
        spellings = {
            "2130706433": "127.0.0.1",
            "0x7f.1": "127.0.0.1",
            "0177.0.0.1": "127.0.0.1",
            "fe80::1%eth0": "fe80::1",
            "example.org": None,
            "1.2.3.4.5": None,
            "beef": None,
            "": None,
        }
        found = {text: url_policy.literal_address(text) for text in spellings}
        assert {text: None if one is None else str(one) for text, one in found.items()} == spellings


class TestAName:
    @pytest.fixture
    def answers(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        found: list[str] = []
        monkeypatch.setattr(url_policy, "resolve_host", lambda host, port: found)
        return found

    async def test_leads_to_the_first_of_its_addresses_where_all_are_public(self, answers: list[str]) -> None:
        answers += ["8.8.8.8", "2606:4700::1111"]
        assert str(await PRODUCTION.resolve("world.example", 443)) == "8.8.8.8"
        answers.append("10.0.0.7")
        with pytest.raises(AddressNotAllowed, match=r"10\.0\.0\.7"):
            await PRODUCTION.resolve("world.example", 443)

    async def test_without_an_address_leads_nowhere(self, answers: list[str]) -> None:
        with pytest.raises(OSError, match=r"world\.example has no address"):
            await PRODUCTION.resolve("world.example", 443)

    async def test_that_is_an_address_is_asked_of_nobody(self, answers: list[str]) -> None:
        answers.append("10.0.0.7")
        assert str(await PRODUCTION.resolve("8.8.8.8.", 443)) == "8.8.8.8"
        with pytest.raises(AddressNotAllowed):
            await PRODUCTION.resolve("127.1", 443)
        assert str(await SANDBOX.resolve("127.1", 443)) == "127.0.0.1"

    async def test_is_connected_to_by_the_address_that_was_checked(self, answers: list[str]) -> None:
        answers += ["fe80::1%eth0"]
        connected: list[Any] = []

        class Network:
            async def connect_tcp(self, *of: Any) -> str:
                connected.append(of)
                return "stream"

        backend: Any = PinnedAddressBackend(PRODUCTION)
        backend._network = Network()
        with pytest.raises(AddressNotAllowed, match="fe80::1 "):
            await backend.connect_tcp("world.example", 443)
        answers[:] = ["2606:4700::1111"]
        assert await backend.connect_tcp("world.example", 8443, 1.5, "203.0.113.7", [(1, 2, 3)]) == "stream"
        assert connected == [("2606:4700::1111", 8443, 1.5, "203.0.113.7", [(1, 2, 3)])]
