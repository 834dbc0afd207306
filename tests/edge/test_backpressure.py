"""Bodies beyond what memory should hold are refused, not collected."""

from __future__ import annotations

import pytest

from gridloom.edge.backpressure import BodyBudget
from gridloom.kernel.problem import TooManyRequests


class TestABodyBudget:
    def test_refuses_what_would_exceed_it_and_says_when_to_come_back(self) -> None:
        budget = BodyBudget(100)
        with budget.hold() as first, budget.hold() as second:
            first.reach(80)
            with pytest.raises(TooManyRequests) as refusal:
                second.reach(30)
            assert refusal.value.headers["Retry-After"] == "1"
            second.reach(20)

    def test_is_whole_again_when_the_requests_are_over(self) -> None:
        budget = BodyBudget(100)
        with budget.hold() as body:
            body.reach(10)
            body.reach(60)
            body.reach(60)
            assert budget.held_bytes == 60
        assert budget.held_bytes == 0

    def test_always_lets_a_single_body_in(self) -> None:
        with BodyBudget(10).hold() as body:
            body.reach(5)
            body.reach(50)
