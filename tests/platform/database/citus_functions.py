"""What a distributed database (Citus) refuses of functions in a change, judged from the statement's resolved tree.

An operator or a cast is a function too: `timestamptz + interval` is not immutable, for its days depend on the session's
time zone. A change may call what is stable, for the coordinator puts in the value; so it must not depend on a row, and
not stand where it may go unevaluated. What is returned, and what a conflict sets, a worker computes: immutable only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import asyncpg
from tests.platform.database.query_trees import Node, walk

from gridloom.platform.database.citus import PLACEMENT_OF, Placement, TableKind

UPDATE, INSERT, DELETE = 2, 3, 4  # PostgreSQL's numbers of commands
RELATION, FUNCTION = 0, 3  # and of what a FROM is made of
TYPE_OF = {
    "VAR": "vartype",
    "PARAM": "paramtype",
    "CONST": "consttype",
    "FUNCEXPR": "funcresulttype",
    "OPEXPR": "opresulttype",
    "RELABELTYPE": "resulttype",
    "COERCEVIAIO": "resulttype",
}


@dataclass(frozen=True, slots=True)
class Functions:
    """By their numbers: how stable each is (i, s or v) and its name, and those behind operators and types."""

    kinds: Mapping[int, tuple[str, str]]
    of_operators: Mapping[int, int]
    of_types: Mapping[int, tuple[int, int]]
    tables: Mapping[int, str]


async def read_functions(connection: asyncpg.Connection[asyncpg.Record]) -> Functions:
    kinds = await connection.fetch("select oid, provolatile::text as kind, proname::text as name from pg_proc")
    operators = await connection.fetch("select oid, oprcode::oid as function from pg_operator")
    types = await connection.fetch("select oid, typinput::oid as reads, typoutput::oid as writes from pg_type")
    tables = await connection.fetch("select oid, relname from pg_class where relnamespace = 'public'::regnamespace")
    return Functions(
        {row["oid"]: (row["kind"], row["name"]) for row in kinds},
        {row["oid"]: row["function"] for row in operators},
        {row["oid"]: (row["reads"], row["writes"]) for row in types},
        {row["oid"]: row["relname"] for row in tables},
    )


def judge_functions(tree: Any, functions: Functions, *, spans: bool) -> list[str]:
    faults: list[str] = []
    for query in walk(tree):
        if query.kind != "QUERY":
            continue
        command = query.number("commandType")
        if command in (UPDATE, INSERT, DELETE) and _find_target(query, functions) is not None:
            faults += _judge_change(query, command, functions)
        if spans:
            faults += _judge_joined_functions(query, functions)
    return faults


def _find_target(query: Node, functions: Functions) -> Placement | None:
    entry = query.read("rtable")[query.number("resultRelation") - 1]
    placement = PLACEMENT_OF.get(functions.tables.get(entry.number("relid"), ""))
    return None if placement is None or placement.kind is TableKind.LOCAL else placement


def _judge_change(query: Node, command: int, functions: Functions) -> Iterator[str]:
    if command != INSERT:
        for part in (query.read("targetList"), query.read("jointree")):
            for _, name in _find_mutable(part, functions, "v"):
                yield f"the volatile function {name}() in an UPDATE or DELETE"
            yield from _judge_stable(part, functions)
    for _, name in _find_mutable(query.read("returningList"), functions, "sv"):
        yield f"{name}(), which is not immutable, in RETURNING"
    for _, name in _find_mutable(query.read("onConflict"), functions, "sv"):
        yield f"{name}(), which is not immutable, in ON CONFLICT"


def _judge_stable(part: Any, functions: Functions) -> Iterator[str]:
    """The coordinator computes what is stable, once: not for each row, and not if it may not be needed."""
    for node in walk(part):
        if node.kind in ("COALESCEEXPR", "CASEEXPR"):
            for _, name in _find_mutable(node, functions, "sv"):
                yield f"{name}(), which is not immutable, within CASE or COALESCE of an UPDATE or DELETE"
    for node, name in _find_mutable(part, functions, "s"):
        if any(inner.kind == "VAR" for inner in walk(list(node.fields.values()))):
            yield f"{name}(), which is not immutable, of a column in an UPDATE or DELETE"


def _judge_joined_functions(query: Node, functions: Functions) -> Iterator[str]:
    """One that depends on a row, or numbers its own, is not computed beforehand: workers must be able to."""
    entries = [entry for entry in query.read("rtable") or () if isinstance(entry, Node)]
    tables = [functions.tables.get(one.number("relid"), "") for one in entries if one.number("rtekind") == RELATION]
    if not any(PLACEMENT_OF[table].kind is TableKind.DISTRIBUTED for table in tables if table in PLACEMENT_OF):
        return
    for entry in entries:
        if entry.number("rtekind") == FUNCTION and "true" in (entry.read("lateral"), entry.read("funcordinality")):
            for _, name in _find_mutable(entry.read("functions"), functions, "sv"):
                yield f"{name}(), which is not immutable, joined with what lies on several workers"


def _find_mutable(value: Any, functions: Functions, kinds: str) -> Iterator[tuple[Node, str]]:
    for node in walk(value):
        if node.kind == "SQLVALUEFUNCTION" and "s" in kinds:
            yield node, "current_timestamp"
        if node.kind == "NEXTVALUEEXPR" and "v" in kinds:
            yield node, "nextval"
        for number in _find_functions(node, functions):
            kind, name = functions.kinds.get(number, ("i", ""))
            if kind in kinds:
                yield node, name


def _find_functions(node: Node, functions: Functions) -> Iterator[int]:
    """The functions that a node itself calls."""
    match node.kind:
        case "FUNCEXPR":
            yield node.number("funcid")
        case "OPEXPR" | "DISTINCTEXPR" | "NULLIFEXPR" | "SCALARARRAYOPEXPR":
            yield functions.of_operators.get(node.number("opno"), 0)
        case "AGGREF":
            yield node.number("aggfnoid")
        case "WINDOWFUNC":
            yield node.number("winfnoid")
        case "COERCEVIAIO":
            yield functions.of_types[node.number("resulttype")][0]
            argument = node.read("arg")
            if argument.kind in TYPE_OF:
                yield functions.of_types[argument.number(TYPE_OF[argument.kind])][1]
