"""What is told to an organisation that has used up its share."""

import pytest

from gridloom.kernel.shares import Share, ShareExceeded, ShareLimits

pytestmark = pytest.mark.pure


class TestTheLimits:
    def test_are_those_of_the_manual_unless_set_otherwise(self) -> None:
        assert ShareLimits() == ShareLimits(
            requests_per_minute=60_000,
            request_burst=2_000,
            body_bytes=67_108_864,
            min_body_bytes_per_s=65_536,
            computations_running=2,
            computations_waiting=20,
            jobs_running=2,
            jobs_queued=20,
            event_streams=500,
            api_keys=500,
            api_keys_per_user=50,
        )


class TestTheWaitThatIsTold:
    @pytest.mark.parametrize(("wait_s", "told"), [(0.0, "1"), (0.2, "1"), (1.0, "1"), (1.2, "2"), (59.01, "60")])
    def test_is_in_whole_seconds_and_never_too_short(self, wait_s: float, told: str) -> None:
        refusal = ShareExceeded(Share.JOBS, 2, "Two are running.", retry_after_s=wait_s)
        assert refusal.headers["Retry-After"] == told
