"""From the commit of an event to who waits for it: what is told when, and what is declared of it."""

from __future__ import annotations

from gridloom.platform.events import hub
from gridloom.platform.identity.token_verification.revocations import CACHE_VALID_S


class TestOpenStreams:
    def test_look_at_their_callers_anew_when_no_cache_believes_the_former_rights(self) -> None:
        assert hub.PERMISSION_CACHE_DELAY_S >= CACHE_VALID_S
