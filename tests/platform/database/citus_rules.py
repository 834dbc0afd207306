"""What a distributed database (Citus) refuses, judged from a statement's text: its parse tree, no planner.

A statement that is bound to one value of its tables' distribution column goes to one worker as it is, where all its
reference tables lie too; hardly anything is refused there. One that spans workers is put together from parts, and must
be made of what can be. One without a distributed table runs on one node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pglast
from pglast.enums import CTEMaterialize
from tests.platform.database.citus_spans import judge_records, judge_span, refers_out
from tests.platform.database.citus_tables import Catalogue, Names, Relation
from tests.platform.database.parse_trees import CHANGES, ast, find_all, find_own, name_function, read_column

from gridloom.platform.database.citus import FUNCTIONS_ON_WORKERS

COORDINATORS = re.compile(
    r"pg_(try_)?advisory_\w+|pg_notify|nextval|currval|set_config|pg_current_(wal|xact|snapshot)\w*"
)
"""What is the coordinator's alone: its locks, its listeners, its sequences, its settings, its log."""


class Judge:
    """Judges statements; `faults` says what would be refused, `tables` and `spans` are the last one's."""

    def __init__(self, sql: str, catalogue: Catalogue, variables: frozenset[str] = frozenset()) -> None:
        self.faults: list[str] = []
        self.spans = False
        for raw in pglast.parse_sql(sql):
            self._judge(raw.stmt, Names(raw.stmt, catalogue, variables))

    def _judge(self, statement: Any, names: Names) -> None:
        self.tables = {relation.table for relation in names.find_relations(find_all(statement, ast.RangeVar))}
        self.correlated = sum(refers_out(link.subselect) for link in find_all(statement, ast.SubLink))
        if not self.tables:
            return
        self.spans = names.holds_distributed(statement) and (
            names.holds_local(statement) or not names.is_bound(statement)
        )
        if find_all(statement, ast.MergeStmt):
            self.faults.append("MERGE")
        self.faults += judge_parts(statement)
        self.faults += _judge_functions(statement, names, spans=self.spans)
        changes = find_all(statement, CHANGES)
        for change in changes:
            self.faults += _judge_change(change, names)
        if statement in changes and not names.find_relation(statement.relation) and self.spans and len(changes) > 1:
            self.faults.append(f"a change of {statement.relation.relname}, which is local, along with others")
        for select in find_all(statement, ast.SelectStmt):
            self.faults += _judge_lock(select, names)
            self.faults += judge_records(select, names)
        if self.spans:
            self.faults += judge_span(statement, names)


# --- functions -----------------------------------------------------------------------------------------------------


def _judge_functions(statement: Any, names: Names, *, spans: bool) -> Iterator[str]:
    """A function of ours runs where its statement does, and there only if it reads nothing.

    So does what is meant for the coordinator: it would happen on a worker, even if it is asked beside a table's rows.
    """
    sent = statement
    if isinstance(statement, ast.InsertStmt) and not names.holds_citus(statement.selectStmt):
        sent = (statement.onConflictClause, statement.returningClause)  # its rows are made on the coordinator
    on_coordinator = _find_calls_on_coordinator(statement, names) if spans else set()
    for call in find_all(sent, ast.FuncCall):
        name = name_function(call)
        if id(call) in on_coordinator or name in FUNCTIONS_ON_WORKERS:
            continue
        if name in names.catalogue.own_functions:
            yield f"{name}() in a statement that a worker may run"
        if COORDINATORS.fullmatch(name):
            yield f"{name}() on a worker"


def _find_calls_on_coordinator(statement: Any, names: Names) -> set[int]:
    """Those of CTEs that are made before the rest is sent: materialised or changes, without a table in them."""
    return {
        id(call)
        for cte in find_all(statement, ast.CommonTableExpr)
        if (cte.ctematerialized == CTEMaterialize.CTEMaterializeAlways or not isinstance(cte.ctequery, ast.SelectStmt))
        and not names.holds_citus(cte.ctequery)
        for call in find_all(cte.ctequery, ast.FuncCall)
    }


def _find_unstable(node: Any, kinds: str, names: Names) -> list[str]:
    calls = [name_function(call) for call in find_all(node, ast.FuncCall)]
    found = [name for name in calls if names.catalogue.volatility.get(name, "i") in kinds]
    if "s" in kinds and find_all(node, ast.SQLValueFunction):
        found.append("current_timestamp")
    return found


# --- changes and locks ---------------------------------------------------------------------------------------------


def _judge_change(change: Any, names: Names) -> Iterator[str]:
    target = names.find_relation(change.relation)
    if target is None:
        yield from _judge_local_change(change, names)
        return
    if isinstance(change, ast.InsertStmt):
        yield from _judge_insert(change, target, names)
        yield from judge_records(change, names)
        return
    for name in _find_unstable(change, "v", names):
        yield f"the volatile function {name}() in an UPDATE or DELETE"
    yield from _judge_assignments(change, target)
    yield from judge_records(change, names)
    if _names_several_keys(change, target, names):
        yield f"a change of {target.table} for several of its keys: a statement for each is of one shard"
    if names.holds_local(change):
        yield f"a local table in a change of {target.table}"
    if target.column is None and names.find_distributed(change):
        yield "a change of a reference table joined with a distributed one"


def _names_several_keys(change: Any, target: Relation, names: Names) -> bool:
    """`key = any(…)`, `key in (…)`, or a join by the key: it takes locks on all shards that exclude each other, and
    commits in two phases. A change without a word of the key is meant for all of them."""
    if target.column is None or names.find_value(change, target) is not None:
        return False
    conditions = [getattr(change, "whereClause", None), *(join.quals for join in find_own(change, ast.JoinExpr))]
    return any(read_column(ref) in target.places for ref in find_own(conditions, ast.ColumnRef, include=True))


def _judge_local_change(change: Any, names: Names) -> Iterator[str]:
    joined = [node for node in find_own(change, ast.RangeVar) if node is not change.relation]
    if not isinstance(change, ast.InsertStmt) and names.find_relations(joined):
        yield f"a change of {change.relation.relname}, which is local, by what lies elsewhere"
    if isinstance(change, ast.InsertStmt) and any(names.holds_citus(link) for link in _find_links_of_insert(change)):
        yield "a sub-query in INSERT … VALUES"


def _find_links_of_insert(insert: Any) -> list[Any]:
    """Sub-queries of an INSERT other than in the SELECT that gives its rows."""
    rows = insert.selectStmt.valuesLists if insert.selectStmt else ()
    return find_all((rows, insert.onConflictClause, insert.returningClause), ast.SubLink)


def _judge_insert(insert: Any, target: Relation, names: Names) -> Iterator[str]:
    rows = (insert.selectStmt.valuesLists if insert.selectStmt else None) or ()
    if find_all(rows, ast.SubLink):
        yield "a sub-query in INSERT … VALUES"
    if find_all(insert.returningClause, ast.SubLink):
        yield "a sub-query in INSERT … RETURNING"
    if target.column is not None and insert.cols and target.column not in {column.name for column in insert.cols}:
        yield f"an INSERT without {target.column}, by which {target.table} is spread"
    clause = insert.onConflictClause
    if clause is None:
        return
    if find_all(clause, ast.SubLink):
        yield "a sub-query in ON CONFLICT … SET"
    yield from _judge_assignments(clause, target)
    for name in _find_unstable(clause, "vs", names):
        yield f"{name}(), which is not immutable, in DO UPDATE"


def _judge_assignments(clause: Any, target: Relation) -> Iterator[str]:
    assigned = getattr(clause, "targetList", None) or ()
    if target.column in {one.name for one in assigned}:
        yield f"a change of {target.column}, by which {target.table} is spread"
    if find_all(assigned, ast.SetToDefault):
        yield "DEFAULT in a change, which may be a volatile function"


def _judge_lock(select: Any, names: Names) -> Iterator[str]:
    if not select.lockingClause:
        return
    own = list(find_own(select, (ast.RangeVar, ast.RangeSubselect, ast.RangeFunction, ast.JoinExpr)))
    relations = names.find_relations(own)
    if not relations:
        if names.holds_citus(select.fromClause):
            yield "row locks over a sub-query"
        return
    if len(own) != 1:
        yield "row locks over a join"
    elif relations[0].column is not None and names.find_value(select, relations[0]) is None:
        yield "row locks over several keys"


# --- one part after another ----------------------------------------------------------------------------------------


def judge_parts(statement: Any) -> Iterator[str]:
    """CTEs that change something are carried out one after the other, each by itself, and the statement at last.

    On one PostgreSQL none of them sees what another one does; here each sees what those before it did.
    """
    clause = getattr(statement, "withClause", None)
    parts = [*(cte.ctequery for cte in (clause.ctes if clause else ())), statement]
    if any(isinstance(part, CHANGES) for part in parts[:-1]) and not isinstance(statement, ast.SelectStmt):
        yield "a change along with CTEs that change something: let it be a CTE too"
    changed: set[str] = set()
    for part in parts:
        target = part.relation if isinstance(part, CHANGES) else None
        seen = [
            node.relname for node in _find_tables(part) if node is not target or not isinstance(part, ast.InsertStmt)
        ]
        yield from (f"a part that sees {name} as an earlier part has left it" for name in changed.intersection(seen))
        if target is not None:
            changed.add(target.relname)
    yield from _judge_system_columns(statement)


def _find_tables(part: Any) -> Iterator[Any]:
    """The tables of a part, those of its sub-queries included, but not those of its CTEs."""
    for name in part:
        if name != "withClause":
            yield from find_all(getattr(part, name), ast.RangeVar)


def _judge_system_columns(statement: Any) -> Iterator[str]:
    for ref in find_all(statement, ast.ColumnRef):
        name = ref.fields[-1]
        if isinstance(name, ast.String) and name.sval in {"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"}:
            yield f"{name.sval}, which is one worker's own"
