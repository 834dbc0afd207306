"""Secrets at rest, and signatures that the Standard Webhooks library accepts."""

from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook as Verifier

from gridloom.kernel.ids import uuid7
from gridloom.platform.database.sealing import Seal, SecretUnreadable
from gridloom.platform.webhooks.signing import new_secret, shown, signed_headers

pytestmark = pytest.mark.pure


class TestASealedSecret:
    def test_is_unreadable_without_its_key(self) -> None:
        secret = new_secret()
        kept = Seal("a long key", "webhook").close(secret)
        assert secret not in kept
        assert Seal("a long key", "webhook").open(kept) == secret
        for other in (Seal("another key", "webhook"), Seal(None, "webhook")):
            with pytest.raises(SecretUnreadable):
                other.open(kept)


class TestASignature:
    def test_is_accepted_with_each_of_the_secrets_and_no_other(self) -> None:
        first, second, stranger = new_secret(), new_secret(), new_secret()
        headers = signed_headers(uuid7(), datetime.now(UTC), '{"a":"ü"}', [first, second])
        for secret in (first, second):
            assert Verifier(shown(secret)).verify('{"a":"ü"}', headers) == {"a": "ü"}
        with pytest.raises(Exception, match="No matching signature"):
            Verifier(shown(stranger)).verify('{"a":"ü"}', headers)
        with pytest.raises(Exception, match="No matching signature"):
            Verifier(shown(first)).verify('{"a":"u"}', headers)
