"""PostgreSQL's own programs (`pg_dump`, `psql` …) connect where the service connects.

The service's driver and libpq read the same address differently: libpq prefers a service file and PGHOSTADDR to what it
is given, and its default directory of sockets is the one it was built with.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

# Read by libpq and not by the driver: they would lead a program to another server than the service's.
_REDIRECTING: Final = ("PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE", "PGSYSCONFDIR", "PGOPTIONS")
# What the driver tries where neither the address nor the environment names a host.
_DEFAULT_HOSTS: Final = "/run/postgresql,/var/run/postgresql,/tmp,localhost"
_QUERY_VARIABLES: Final = {
    "host": "PGHOST",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "database": "PGDATABASE",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "passfile": "PGPASSFILE",
    "sslmode": "PGSSLMODE",
    "sslnegotiation": "PGSSLNEGOTIATION",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "sslcrl": "PGSSLCRL",
    "ssl_min_protocol_version": "PGSSLMINPROTOCOLVERSION",
    "ssl_max_protocol_version": "PGSSLMAXPROTOCOLVERSION",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
    "krbsrvname": "PGKRBSRVNAME",
    "gsslib": "PGGSSLIB",
}


def client_environment(dsn: str, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment in which a program of PostgreSQL connects as the service does.

    An environment, since a password on a command line is seen by all. What the address leaves open is inherited, as the
    driver inherits it.
    """
    given = os.environ if inherited is None else inherited
    kept = {name: value for name, value in given.items() if name not in _REDIRECTING}
    return {"PGHOST": _DEFAULT_HOSTS, **kept, **_read_address(dsn)}


def _read_address(dsn: str) -> dict[str, str]:
    """The parts of the address as libpq's variables; authority and path win over the query."""
    parts = urlsplit(dsn)
    query = {
        _QUERY_VARIABLES[name]: values[-1] for name, values in parse_qs(parts.query).items() if name in _QUERY_VARIABLES
    }
    credentials, _, hosts = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    authority = {
        **_read_hosts(hosts),
        "PGUSER": unquote(user),
        "PGPASSWORD": unquote(password),
        "PGDATABASE": unquote(parts.path.removeprefix("/")),
    }
    return query | {name: value for name, value in authority.items() if value}


def _read_hosts(hosts: str) -> dict[str, str]:
    """One host or several; a port each, where any is named."""
    if not hosts:
        return {}
    names, ports = [], []
    for one in hosts.split(","):
        name, colon, port = one.rpartition(":") if not one.endswith("]") else (one, "", "")
        names.append(unquote(name if colon else one).strip("[]"))
        ports.append(port if colon else "")
    return {"PGHOST": ",".join(names), "PGPORT": ",".join(ports) if any(ports) else ""}
