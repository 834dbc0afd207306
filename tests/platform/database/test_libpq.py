"""PostgreSQL's programs are led to the server that the driver connects to."""

from __future__ import annotations

import pytest

from gridloom.platform.database.libpq import client_environment

ELSEWHERE = {
    "PGHOST": "elsewhere.example.org",
    "PGHOSTADDR": "192.0.2.1",
    "PGPORT": "1",
    "PGUSER": "stranger",
    "PGDATABASE": "nowhere",
    "PGSERVICE": "absent",
    "PGOPTIONS": "-c search_path=nowhere",
}


def read(dsn, **inherited):
    found = client_environment(dsn, inherited)
    return {name.removeprefix("PG").lower(): value for name, value in found.items()}


class TestTheEnvironmentOfAProgram:
    @pytest.mark.parametrize(
        "dsn",
        [
            "postgresql://ada:s%40lt@db.example.org:6432/grid",
            "postgresql:///grid?host=db.example.org&port=6432&user=ada&password=s%40lt",
            "postgresql://db.example.org:6432?dbname=grid&user=ada&password=s%40lt",
            "postgresql://db.example.org:6432?database=grid&user=ada&password=s%40lt",
        ],
    )
    def test_has_what_the_address_says_whatever_it_was_before(self, dsn):
        expected = {"host": "db.example.org", "port": "6432", "user": "ada", "password": "s@lt", "database": "grid"}
        assert read(dsn, **ELSEWHERE) == expected

    def test_has_the_last_of_what_is_said_twice_and_the_path_before_the_query(self):
        found = read(
            "postgresql://ada@first:1/grid?host=second&port=2&user=eve&dbname=other&sslmode=disable&sslmode=require"
        )
        assert (found["host"], found["port"], found["user"]) == ("first", "1", "ada")
        assert (found["database"], found["sslmode"]) == ("grid", "require")
