"""Secrets at rest: what was sealed with any key that the service has had can be opened."""

from __future__ import annotations

from typing import Any

import pytest

from gridloom.platform.database.sealing import Seal, Sealing, SecretUnreadable, reseal_rows

pytestmark = pytest.mark.pure


class TestASecret:
    @pytest.mark.parametrize("key", ["present", "last year", "the year before"])
    def test_is_opened_with_the_present_key_and_every_former_one(self, key: str) -> None:
        seal = Seal("present", "webhook", ["last year", "the year before"])
        stored = Seal(key, "webhook").close(b"secret")
        assert seal.open(stored) == b"secret"
        assert seal.is_current(stored) == (key == "present")

    def test_is_opened_neither_with_another_key_nor_for_another_purpose(self) -> None:
        for other in (Seal("another", "webhook"), Seal("present", "signing-key"), Seal(None, "webhook")):
            with pytest.raises(SecretUnreadable):
                other.open(Seal("present", "webhook").close(b"secret"))

    def test_without_a_key_is_stored_as_it_is_and_opened_by_all(self) -> None:
        seal = Seal(None, "webhook")
        stored = seal.close(b"secret")
        assert not seal.has_key
        assert Seal("present", "webhook").has_key
        for other in (seal, Seal("present", "webhook"), Seal(None, "webhook", ["last year"])):
            assert other.open(stored) == b"secret"
            assert not other.is_current(stored), "it is not sealed at all"
        assert not Seal(None, "webhook", ["present"]).is_current(Seal("present", "webhook").close(b"secret"))

    def test_that_only_looks_like_a_sealed_one_is_not_sealed(self) -> None:
        """Someone else's, stored before there was a key."""
        seal = Seal("present", "webhook")
        looks_sealed = Seal(None, "webhook").close(seal.close(b"secret")[1:])
        assert not seal.is_current(looks_sealed)
        assert seal.open(looks_sealed) != b"secret"


class TestEachKindOfSecret:
    KINDS = ("webhooks", "signing_keys", "second_factors", "identity_providers")

    def test_is_opened_with_a_former_key_and_never_as_another_kind(self) -> None:
        present, former = Sealing("present", ["last year"]), Sealing("last year")
        for kind in self.KINDS:
            stored = getattr(former, kind).close(b"secret")
            assert getattr(present, kind).open(stored) == b"secret", kind
            assert not getattr(present, kind).is_current(stored), kind
            assert getattr(present, kind).is_current(getattr(present, kind).close(b"secret")), kind
            for other in set(self.KINDS) - {kind}:
                with pytest.raises(SecretUnreadable):
                    getattr(present, other).open(stored)


class TestSecretsOfATable:
    async def test_are_sealed_anew_where_they_are_not_sealed_with_the_present_key(self) -> None:
        seal = Seal("present", "webhook", ["last year"])
        rows = [
            {"key": 1, "secret": Seal("last year", "webhook").close(b"one")},
            {"key": 2, "secret": seal.close(b"two")},
            {"key": 3, "secret": Seal(None, "webhook").close(b"three")},
        ]
        written: list[tuple[str, int, bytes, bytes]] = []

        class Table:
            async def fetch(self, select: str) -> Any:
                assert select == "select"
                return rows

            async def execute(self, *values: Any) -> None:
                written.append(values)

        table: Any = Table()
        assert await reseal_rows(table, seal, "select", "update") == 2
        assert [(update, key, was) for update, key, _, was in written] == [
            ("update", 1, rows[0]["secret"]),
            ("update", 3, rows[2]["secret"]),
        ]
        assert [(seal.is_current(now), seal.open(now)) for _, _, now, _ in written] == [
            (True, b"one"),
            (True, b"three"),
        ]
