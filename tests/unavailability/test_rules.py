"""What the logbook tells of an unavailability."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.pure
