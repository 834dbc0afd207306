"""Each package has what it needs of those above it, in every kind of process."""

from __future__ import annotations

import pytest

from gridloom import wiring
from gridloom.kernel.dependency import Dependency
from gridloom.platform.jobs import jobs_of
from gridloom.platform.jobs.declare import KINDS
from gridloom.platform.upkeep import key_expiry, retention

pytestmark = pytest.mark.pure


class TestDependencies:
    def test_are_all_provided_and_may_be_again(self) -> None:
        for _ in range(2):
            wiring.provide_dependencies()
        assert [need.description for need in Dependency.registry if not need.is_provided] == []
        assert {kind.name for kind in jobs_of(*wiring.JOB_MODULES)} <= set(KINDS)
        assert {kind.name for kind in jobs_of(key_expiry, retention)} <= set(KINDS)
