"""Lengths and capacities of market messages at their very limits."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.pure
