"""Secrets at rest: what was sealed with any key that the service has had can be opened."""

from __future__ import annotations

import pytest

from gridloom.database.sealing import Seal, SecretUnreadable

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
