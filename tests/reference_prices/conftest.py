"""What tests of published prices share."""

from tests.revenue.conftest import pool, world

__all__ = ["pool", "world"]
