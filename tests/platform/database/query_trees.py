"""A statement as PostgreSQL understands it: parsed, names and types resolved, each operator known by its function.

Read off a function that has the statement as its body (BEGIN ATOMIC), for the catalogue keeps that as a tree of nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import asyncpg

_TOKEN = re.compile(r'[{}()]|"(?:\\.|[^"\\])*"|(?:\\.|[^\s{}()\\])+', re.DOTALL)
_UNREAD = re.compile(r" :\w*(?:location|collid|typmod|nosyn) -?\d+")
"""A third of a tree: places in the text, collations, lengths of types."""


@dataclass(slots=True)
class Node:
    """One node of the tree: its kind, such as OPEXPR, and its fields."""

    kind: str
    fields: dict[str, list[Any]] = field(default_factory=dict)

    def read(self, name: str) -> Any:
        """The one value of a field: a node, a list or a word."""
        values = self.fields.get(name) or [None]
        return None if values[0] == "<>" else values[0]

    def number(self, name: str) -> int:
        return int(self.read(name) or 0)


def parse_tree(text: str) -> Any:
    tokens = iter(_TOKEN.findall(_UNREAD.sub("", text)))
    return _read_value(next(tokens), tokens)


def _read_value(token: str, tokens: Iterator[str]) -> Any:
    if token == "(":
        values = []
        while (following := next(tokens)) != ")":
            values.append(_read_value(following, tokens))
        return values
    if token != "{":
        return token
    node = Node(next(tokens))
    name = ""
    while (following := next(tokens)) != "}":
        if following.startswith(":"):
            name = following[1:]
            node.fields[name] = []
        else:
            node.fields[name].append(_read_value(following, tokens))
    return node


def walk(value: Any) -> Iterator[Node]:
    """Every node, from the top."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Node):
            yield one
            left.extend(reversed(one.fields.values()))
        elif isinstance(one, list):
            left.extend(part for part in reversed(one) if not isinstance(part, str))


def count_correlated(tree: Any) -> int:
    """How many sub-queries speak of a row of the query around them."""
    return sum(_refers_out(node.fields["subselect"], -1) for node in walk(tree) if node.kind == "SUBLINK")


def _refers_out(value: Any, depth: int) -> bool:
    if isinstance(value, list):
        return any(_refers_out(part, depth) for part in value)
    if not isinstance(value, Node):
        return False
    if value.kind == "VAR" and value.number("varlevelsup") > depth:
        return True
    return any(_refers_out(values, depth + (value.kind == "QUERY")) for values in value.fields.values())


async def analyse(connection: asyncpg.Connection[asyncpg.Record], sql: str) -> Any:
    """The tree of a statement; its parameters have the types that PostgreSQL infers for them."""
    prepared = await connection.prepare(sql)
    types = await connection.fetch(
        "select format_type(t, null) as name from unnest($1::oid[]) with ordinality u(t, place) order by place",
        [one.oid for one in prepared.get_parameters()],
    )
    return await read_body(connection, sql, ", ".join(row["name"] for row in types))


async def read_body(connection: asyncpg.Connection[asyncpg.Record], sql: str, arguments: str) -> Any:
    """The tree of a statement in a function that has these arguments: `int, text`, or with names."""
    body = sql.strip().rstrip(";")
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(
            f"create function pg_temp.judged({arguments}) returns void language sql begin atomic {body}; end"
        )
        text = await connection.fetchval(
            "select prosqlbody::text from pg_proc where proname = 'judged' and pronamespace = pg_my_temp_schema()"
        )
    finally:
        await transaction.rollback()
    return parse_tree(text)
