"""What is told to an organisation that has used up its share."""

import pytest

from gridloom.kernel.shares import Share, ShareExceeded

pytestmark = pytest.mark.pure


class TestTheWaitThatIsTold:
    @pytest.mark.parametrize(("wait_s", "told"), [(0.0, "1"), (0.2, "1"), (1.0, "1"), (1.2, "2"), (59.01, "60")])
    def test_is_in_whole_seconds_and_never_too_short(self, wait_s: float, told: str) -> None:
        refusal = ShareExceeded(Share.JOBS, 2, "Two are running.", retry_after_s=wait_s)
        assert refusal.headers["Retry-After"] == told

    def test_comes_with_the_share_and_its_limit(self) -> None:
        refusal = ShareExceeded(Share.JOBS, 2, "Two are running.")
        assert refusal.members == {"share": "jobs", "limit": 2}
