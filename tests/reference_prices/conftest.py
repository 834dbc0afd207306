"""What tests of published prices share."""

from tests.revenue.conftest import pool  # noqa: F401
