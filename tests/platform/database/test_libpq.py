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

    def test_inherits_what_the_address_leaves_open(self):
        inherited = {"PGPORT": "6432", "PGPASSFILE": "/etc/pgpass", "PATH": "/bin"}
        expected = {"host": "db", "port": "6432", "passfile": "/etc/pgpass", "database": "grid", "path": "/bin"}
        assert read("postgresql://db/grid", **inherited) == expected

    def test_has_the_last_of_what_is_said_twice_and_the_path_before_the_query(self):
        found = read(
            "postgresql://ada@first:1/grid?host=second&port=2&user=eve&dbname=other&sslmode=disable&sslmode=require"
        )
        assert (found["host"], found["port"], found["user"]) == ("first", "1", "ada")
        assert (found["database"], found["sslmode"]) == ("grid", "require")

    def test_looks_for_a_server_of_this_machine_where_the_driver_does(self):
        assert read("postgresql:///grid")["host"].startswith("/run/postgresql,")
        assert read("postgresql:///grid", PGHOST="/somewhere")["host"] == "/somewhere"

    def test_names_several_hosts_with_their_ports(self):
        found = read("postgresql://ada@[2001:db8::1]:6432,second/grid?target_session_attrs=read-write")
        assert found["host"] == "2001:db8::1,second"
        assert found["port"] == "6432,"
        assert found["targetsessionattrs"] == "read-write"

    def test_has_the_certificates_of_the_address(self):
        found = read("postgresql://db/grid?sslmode=verify-full&sslrootcert=/etc/ca.pem&sslcert=/c&sslkey=/k")
        assert found["sslmode"] == "verify-full"
        assert (found["sslrootcert"], found["sslcert"], found["sslkey"]) == ("/etc/ca.pem", "/c", "/k")
