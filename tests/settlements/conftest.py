"""Settled assets, as in the tests of revenue."""

from tests.revenue.conftest import pool, world

__all__ = ["pool", "world"]
