"""Lengths and capacities of market messages at their very limits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.exchange_notifications.rules import (
    RemarksTooLong,
    check_remarks,
)

pytestmark = pytest.mark.pure


class TestRemarks:
    def test_fill_their_field_and_no_more(self) -> None:
        fitting: Any = SimpleNamespace(full_remarks="x" * 500, duration_uncertainty="x")
        check_remarks(fitting)
        for uncertainty, pointer in ((None, "/remarks"), ("x", "/durationUncertainty")):
            longer: Any = SimpleNamespace(full_remarks="x" * 501, duration_uncertainty=uncertainty)
            with pytest.raises(RemarksTooLong) as refusal:
                check_remarks(longer)
            assert [error.pointer for error in refusal.value.errors] == [pointer]
