"""Addresses of PostgreSQL as people write them."""

import pytest

from gridloom.kernel.database_address import parse_database_address

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("postgresql://localhost", "postgresql://localhost"),
        ("postgres://db/grid/", "postgres://db/grid"),
        ("postgresql:///gridloom?host=/run/pg", "postgresql:///gridloom?host=/run/pg"),
        ("postgresql:/gridloom?host=/run/pg", "postgresql:///gridloom?host=/run/pg"),
        ("postgresql://u@/db?host=/x&port=1", "postgresql://u@/db?host=/x&port=1"),
        ("postgresql://h1:5432,h2:5433/db", "postgresql://h1:5432,h2:5433/db"),
        ("postgresql://a:b@[::1]:5432/x", "postgresql://a:b@[::1]:5432/x"),
        ("postgresql://%2Frun%2Fpg/db", "postgresql://%2Frun%2Fpg/db"),
        ("postgresql://u:a%2Fb@h/db", "postgresql://u:a%2Fb@h/db"),
        ("postgresql://u:pw@h/db?user=x@y", "postgresql://u:pw@h/db?user=x@y"),
        ("postgresql://u:a/b#c?d@e:f%@h:5432/db", "postgresql://u:a%2Fb%23c%3Fd%40e%3Af%25@h:5432/db"),
        ("postgresql://u:12/a@h/db", "postgresql://u:12%2Fa@h/db"),
        ("postgresql://u:12?a@h/db", "postgresql://u:12%3Fa@h/db"),
    ],
)
def test_an_address_is_read_whatever_its_password_holds(written: str, read: str) -> None:
    assert parse_database_address(written) == read
    assert parse_database_address(read) == read


@pytest.mark.parametrize(
    "written", ["postgresql://", "postgresql:///", "postgresql://u:p/w@", "postgresql://u:p@h:abc/d"]
)
def test_an_address_without_one_reading_is_refused_and_no_password_shown(written: str) -> None:
    with pytest.raises(ValueError, match="percent-encode the password") as refused:
        parse_database_address(written)
    assert "p/w" not in str(refused.value)
