"""The tokens themselves."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.platform.identity.tokens import (
    ACCESS_LIFETIME,
    CLOCK_SKEW_S,
    TokenInvalid,
    hash_of,
    kid_of,
    new_api_key,
    new_invitation_token,
    new_refresh_token,
    new_seed,
    read_access_token,
    sign_access_token,
    signing_key,
)

pytestmark = pytest.mark.pure

NOW = datetime.now(UTC)


@pytest.fixture
def key():
    return signing_key(*new_seed(), NOW, None)


def token_of(key, issued_at=None):
    return sign_access_token(
        key,
        user_id=uuid4(),
        session_id=uuid4(),
        organisation_id=uuid4(),
        issued_at=issued_at or datetime.now(UTC),
    )


class TestAccessToken:
    def test_is_read_with_the_key_that_it_names(self, key):
        token = token_of(key)
        assert kid_of(token) == key.kid
        claims = read_access_token(token, key.public)
        assert claims.expires_at == pytest.approx((datetime.now(UTC) + ACCESS_LIFETIME).timestamp(), abs=2)

    def test_is_refused_with_another_key(self, key):
        other = signing_key(*new_seed(), NOW, None)
        with pytest.raises(TokenInvalid):
            read_access_token(token_of(key), other.public)

    def test_holds_from_its_issue_for_fifteen_minutes(self, key):
        claims, issued_at = read_access_token(token_of(key, NOW), key.public), int(NOW.timestamp())
        assert claims.holds_at(issued_at)
        assert claims.holds_at(issued_at + 15 * 60 - 0.001)
        assert not claims.holds_at(issued_at + 15 * 60)
        assert claims.holds_at(issued_at - CLOCK_SKEW_S), "another of the database's servers may be a little behind"
        assert not claims.holds_at(issued_at - CLOCK_SKEW_S - 0.001), "it is not issued yet"

    @pytest.mark.parametrize("lifetime", [timedelta(minutes=16), timedelta(days=365), timedelta(0)])
    def test_is_refused_when_it_lasts_longer_than_any_that_is_issued(self, key, lifetime):
        claims = jwt.decode(token_of(key), options={"verify_signature": False})
        claims["exp"] = int(claims["iat"] + lifetime.total_seconds())
        forged = jwt.encode(claims, key.private, algorithm="EdDSA", headers={"kid": key.kid})
        with pytest.raises(TokenInvalid):
            read_access_token(forged, key.public)

    @pytest.mark.parametrize("missing", ["exp", "iat", "iss", "sub", "sid"])
    def test_is_refused_without_a_claim(self, key, missing):
        claims = jwt.decode(token_of(key), options={"verify_signature": False})
        del claims[missing]
        with pytest.raises(TokenInvalid):
            read_access_token(jwt.encode(claims, key.private, "EdDSA"), key.public)

    @pytest.mark.parametrize("claim", ["sub", "sid"])
    @pytest.mark.parametrize("value", [7, "not-a-uuid", None, ["x"], {"a": 1}])
    def test_is_refused_when_a_claim_has_the_wrong_shape(self, key, claim, value):
        claims = {**jwt.decode(token_of(key), options={"verify_signature": False}), claim: value}
        try:
            token = jwt.encode(claims, key.private, "EdDSA")
        except TypeError:
            return
        with pytest.raises(TokenInvalid):
            read_access_token(token, key.public)

    @given(st.text(max_size=200))
    def test_never_breaks_on_noise(self, noise):
        with pytest.raises(TokenInvalid):
            kid_of(noise)

    @given(st.binary(min_size=1, max_size=60), st.integers(0, 10_000))
    def test_is_refused_with_any_byte_changed(self, change, place):
        key = signing_key(*new_seed(), NOW, None)
        token = bytearray(token_of(key).encode())
        position = place % len(token)
        changed = bytes(token[:position]) + change + bytes(token[position + 1 :])
        if changed == bytes(token):
            return
        try:
            text = changed.decode("ascii")
            if kid_of(text) == key.kid:
                claims = read_access_token(text, key.public)
                # Base64 leaves the last character some bits that mean nothing.
                assert claims == read_access_token(token.decode(), key.public)
        except (TokenInvalid, UnicodeDecodeError):
            pass


class TestOpaqueTokens:
    def test_are_never_the_same_twice(self):
        made = [make() for make in (new_refresh_token, new_invitation_token, new_api_key) for _ in range(100)]
        assert len(set(made)) == len(made)
        assert len({hash_of(token) for token in made}) == len(made)
