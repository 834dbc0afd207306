"""What a worker remembers of verified callers."""

from uuid import uuid4

import pytest

from gridloom.platform.http import Caller
from gridloom.platform.identity.token_verification.verification import CachedCaller, CallerCache

pytestmark = pytest.mark.pure


def verified(*subjects, expires_at=100.0):
    caller = Caller(
        id=uuid4(),
        kind="USER",
        organisation_id=uuid4(),
        organisation_kind="PARTICIPANT",
        role="VIEWER",
        permissions=frozenset(),
        session_id=uuid4(),
        username="ada",
        display_name="Ada",
    )
    return CachedCaller(caller, expires_at, frozenset(subjects))


def kept(cache, token, *subjects, **more):
    cache.put(token, verified(*subjects, **more), loaded_at_version=cache.version)


class TestCallerCache:
    def test_knows_a_token_until_it_expires(self):
        cache = CallerCache()
        kept(cache, "a", expires_at=100.0)
        assert cache.get("a", now=99.9) is not None
        assert cache.get("a", now=100.0) is None
        assert len(cache) == 0

    def test_forgets_whatever_rests_on_a_revoked_subject(self):
        cache = CallerCache()
        kept(cache, "a", "session:1", "member:1", "organisation:1")
        kept(cache, "b", "session:2", "member:1", "organisation:1")
        kept(cache, "c", "session:3", "member:2", "organisation:1")
        cache.evict("session:1")
        assert [cache.get(token, 0) is None for token in "abc"] == [True, False, False]
        cache.evict("member:1")
        assert [cache.get(token, 0) is None for token in "abc"] == [True, True, False]
        cache.evict("organisation:1")
        assert len(cache) == 0

    def test_stays_within_its_bounds_and_leaves_nothing_behind(self):
        cache = CallerCache(most=10)
        for number in range(100):
            kept(cache, f"token {number}", f"session:{number}", "member:1")
        assert len(cache) == 10
        cache.evict("member:1")
        assert len(cache) == 0
        assert cache._tokens_by_subject == {}
        kept(cache, "a", "session:1", "member:1")
        cache.clear()
        assert (len(cache), cache._tokens_by_subject) == (0, {})
