"""What a distributed database (Citus) refuses, judged from a statement's text: its parse tree, no planner.

A statement that is bound to one value of its tables' distribution column goes to one worker as it is, where all its
reference tables lie too; hardly anything is refused there. One that spans workers is put together from parts, and must
be made of what can be. One without a distributed table runs on one node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import asyncpg
import pglast
from pglast import ast as nodes
from pglast.enums import BoolExprType, CTEMaterialize, JoinType, SetOperation

from gridloom.database.distribution import FUNCTIONS_ON_WORKERS, PLACEMENT_OF, Kind

ast: Any = nodes  # its types know less than the tree does

COORDINATORS = re.compile(
    r"pg_(try_)?advisory_\w+|pg_notify|nextval|currval|set_config|pg_current_(wal|xact|snapshot)\w*"
)
"""What is the coordinator's alone: its locks, its listeners, its sequences, its settings, its log."""
ORDERED_AGGREGATES = {"array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg"}


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the real database says of names."""

    volatility: Mapping[str, str]  # of functions, the least stable of those with the name: i, s or v
    own_functions: frozenset[str]
    views: Mapping[str, frozenset[str]]


async def read_catalogue(db: asyncpg.Connection[asyncpg.Record]) -> Catalogue:
    volatility = await db.fetch(
        "select proname, max(position(provolatile::text in 'isv')) as worst from pg_proc group by proname"
    )
    own = await db.fetch(
        """
        select proname from pg_proc p where pronamespace = 'public'::regnamespace
          and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
        """
    )
    views: dict[str, set[str]] = {}
    for view, table in await db.fetch(
        "select view_name, table_name from information_schema.view_table_usage where view_schema = 'public'"
    ):
        views.setdefault(view, set()).add(table)
    return Catalogue(
        {row["proname"]: "isv"[row["worst"] - 1] for row in volatility},
        frozenset(row["proname"] for row in own),
        {view: frozenset(tables) for view, tables in views.items()},
    )


@dataclass(slots=True)
class Relation:
    """A Citus table at one place of a statement."""

    alias: str
    table: str
    column: str | None  # None for a reference table
    group: str | None


class Judge:
    """Judges one statement; `faults` says what would be refused."""

    def __init__(self, sql: str, catalogue: Catalogue, variables: frozenset[str] = frozenset()) -> None:
        self.catalogue = catalogue
        self.variables = variables
        self.faults: list[str] = []
        self.statements = [raw.stmt for raw in pglast.parse_sql(sql)]
        for statement in self.statements:
            self._judge(statement)

    def _judge(self, statement: Any) -> None:
        self.ctes = {cte.ctename for cte in find_all(statement, ast.CommonTableExpr)}
        relations = [self._relation(node) for node in find_all(statement, ast.RangeVar)]
        self.tables = {relation.table for relation in relations if relation is not None}
        self.distributed = [r for r in relations if r is not None and r.column is not None]
        if not self.tables:
            return
        self.spans = bool(self.distributed) and (self._has_local(statement) or not self._is_bound(statement))
        if find_all(statement, ast.MergeStmt):
            self.faults.append("MERGE")
        self.faults += judge_parts(statement)
        self._judge_functions(statement)
        changes = find_all(statement, (ast.UpdateStmt, ast.DeleteStmt, ast.InsertStmt))
        for change in changes:
            self._judge_change(change)
        if statement in changes and self._relation(statement.relation) is None and self.spans and len(changes) > 1:
            self.faults.append(f"a change of {statement.relation.relname}, which is local, along with others")
        for select in find_all(statement, ast.SelectStmt):
            self._judge_lock(select)
            self._judge_where_it_runs(select)
        if self.spans:
            self._judge_span(statement)

    # --- what is there -------------------------------------------------------------------------------------------

    def _relation(self, node: Any) -> Relation | None:
        """The Citus table that a name stands for; a view stands for the first of its tables, all are alike in that."""
        name = node.relname
        if name in self.ctes or node.schemaname == "pg_temp":
            return None
        for table in sorted(self.catalogue.views.get(name, {name})):
            placement = PLACEMENT_OF.get(table)
            if placement is None or placement.kind is Kind.LOCAL:
                continue
            alias = node.alias.aliasname if node.alias else name
            return Relation(alias, name, placement.column, placement.group)
        return None

    def _has_local(self, statement: Any) -> bool:
        """A table of the coordinator's takes part; what a changed one is given does not count."""
        return any(
            (placement := PLACEMENT_OF.get(node.relname)) is not None
            and placement.kind is Kind.LOCAL
            and node.relname not in self.ctes
            for node in find_all(statement, ast.RangeVar)
        )

    def _is_bound(self, statement: Any) -> bool:
        """Whether every distributed table of the statement is held to one and the same given value."""
        values = set()
        for owner, relation in self._owned_relations(statement):
            bound = self._value_of(owner, relation)
            if bound is None:
                return False
            values.add(bound)
        return len(values) == 1

    def _owned_relations(self, statement: Any) -> Iterator[tuple[Any, Relation]]:
        """Each distributed table with the SELECT or change in which it stands."""
        for owner in find_all(statement, (ast.SelectStmt, ast.UpdateStmt, ast.DeleteStmt, ast.InsertStmt)):
            for node in _own(owner, ast.RangeVar):
                relation = self._relation(node)
                if relation is not None and relation.column is not None:
                    yield owner, relation

    def _value_of(self, owner: Any, relation: Relation) -> str | None:
        """The parameter or constant to which the relation's distribution column is equal, by a condition beside it.

        What holds for a column of the query around it is not known when the workers are chosen.
        """
        if isinstance(owner, ast.InsertStmt):
            return self._inserted_value(owner, relation)
        equal = {(relation.alias, relation.column), ("", relation.column)}
        pairs = list(self._equalities(owner))
        grown = True
        while grown:
            grown = False
            for left, right in pairs:
                for one, other in ((left, right), (right, left)):
                    if one in equal and isinstance(other, str):
                        return other
                    if one in equal and isinstance(other, tuple) and other not in equal:
                        equal.add(other)
                        grown = True
        return None

    def _inserted_value(self, insert: Any, relation: Relation) -> str | None:
        columns = [column.name for column in insert.cols or ()]
        select = insert.selectStmt
        if relation.column not in columns or select is None:
            return None
        place = columns.index(relation.column)
        if len(select.valuesLists or ()) == 1:
            return self._given_value(select.valuesLists[0][place])
        targets = select.targetList or ()
        return self._given_value(targets[place].val) if place < len(targets) else None

    def _equalities(self, owner: Any) -> Iterator[tuple[Any, Any]]:
        for condition in self._conditions(owner):
            if isinstance(condition, ast.A_Expr) and [n.sval for n in condition.name] == ["="] and condition.kind == 0:
                yield self._term(condition.lexpr), self._term(condition.rexpr)
        for join in _own(owner, ast.JoinExpr):
            for name in join.usingClause or ():
                sides = [self._aliases_below(join.larg), self._aliases_below(join.rarg)]
                for left in sides[0]:
                    for right in sides[1]:
                        yield (left, name.sval), (right, name.sval)

    def _conditions(self, owner: Any) -> Iterator[Any]:
        yield from _conjuncts(getattr(owner, "whereClause", None))
        for join in _own(owner, ast.JoinExpr):
            yield from _conjuncts(join.quals)

    def _aliases_below(self, node: Any) -> set[str]:
        found = set()
        for part in _own(node, (ast.RangeVar, ast.RangeSubselect, ast.RangeFunction), include=True):
            if part.alias:
                found.add(part.alias.aliasname)
            elif isinstance(part, ast.RangeVar):
                found.add(part.relname)
        return found

    def _term(self, node: Any) -> Any:
        given = self._given_value(node)
        if given is not None:
            return given
        while isinstance(node, ast.TypeCast):
            node = node.arg
        if isinstance(node, ast.ColumnRef):
            names = [part.sval for part in node.fields if isinstance(part, ast.String)]
            return ("", names[0]) if len(names) == 1 else (names[0], names[-1])
        return None

    def _given_value(self, node: Any) -> str | None:
        while isinstance(node, ast.TypeCast):
            node = node.arg
        if isinstance(node, ast.ParamRef):
            return f"${node.number}"
        if isinstance(node, ast.A_Const):
            return str(node.val)
        if isinstance(node, ast.ColumnRef) and len(node.fields) == 1 and isinstance(node.fields[0], ast.String):
            name: str = node.fields[0].sval
            return f":{name}" if name in self.variables else None
        return None

    # --- what is refused -----------------------------------------------------------------------------------------

    def _judge_functions(self, statement: Any) -> None:
        """A function of ours runs where its statement does, and there only if it reads nothing."""
        if isinstance(statement, ast.InsertStmt) and not self._reads_tables(statement):
            return  # its rows are made on the coordinator
        on_coordinator = self._calls_on_coordinator(statement) if self.spans else set()
        for call in find_all(statement, ast.FuncCall):
            name = call.funcname[-1].sval
            if (
                id(call) not in on_coordinator
                and name in self.catalogue.own_functions
                and name not in FUNCTIONS_ON_WORKERS
            ):
                self.faults.append(f"{name}() in a statement that a worker may run")

    def _calls_on_coordinator(self, statement: Any) -> set[int]:
        """Those of CTEs that are made before the rest is sent: materialised or changes, without a table in them."""
        return {
            id(call)
            for cte in find_all(statement, ast.CommonTableExpr)
            if (
                cte.ctematerialized == CTEMaterialize.CTEMaterializeAlways
                or not isinstance(cte.ctequery, ast.SelectStmt)
            )
            and not self._holds_citus(cte.ctequery)
            for call in find_all(cte.ctequery, ast.FuncCall)
        }

    def _reads_tables(self, insert: Any) -> bool:
        return insert.selectStmt is not None and any(
            self._relation(node) is not None for node in find_all(insert.selectStmt, ast.RangeVar)
        )

    def _judge_change(self, change: Any) -> None:
        target = self._relation(change.relation)
        if target is None:
            if self._joined_tables(change):
                self.faults.append(f"a change of {change.relation.relname}, which is local, by what lies elsewhere")
            return
        if isinstance(change, ast.InsertStmt):
            self._judge_insert(change)
            return
        for name in self._unstable_functions(change, "v"):
            self.faults.append(f"the volatile function {name}() in an UPDATE or DELETE")
        self._judge_assignments(change, target)
        if self._has_local(change):
            self.faults.append(f"a local table in a change of {target.table}")
        if target.column is None and any(
            (relation := self._relation(node)) is not None and relation.column is not None
            for node in _own(change, ast.RangeVar)
        ):
            self.faults.append("a change of a reference table joined with a distributed one")

    def _joined_tables(self, change: Any) -> list[Any]:
        if isinstance(change, ast.InsertStmt):
            return []
        return [n for n in _own(change, ast.RangeVar) if n is not change.relation and self._relation(n) is not None]

    def _judge_insert(self, insert: Any) -> None:
        for row in (insert.selectStmt.valuesLists or ()) if insert.selectStmt else ():
            if find_all(row, ast.SubLink):
                self.faults.append("a sub-query in INSERT … VALUES")
        clause = insert.onConflictClause
        if clause is None:
            return
        if find_all(clause, ast.SubLink):
            self.faults.append("a sub-query in ON CONFLICT … SET")
        target = self._relation(insert.relation)
        assert target is not None
        self._judge_assignments(clause, target)
        for name in self._unstable_functions(clause, "vs"):
            self.faults.append(f"{name}(), which is not immutable, in DO UPDATE")

    def _judge_assignments(self, clause: Any, target: Relation) -> None:
        if target.column in {one.name for one in getattr(clause, "targetList", None) or ()}:
            self.faults.append(f"a change of {target.column}, by which {target.table} is spread")

    def _unstable_functions(self, node: Any, kinds: str) -> list[str]:
        calls = [call.funcname[-1].sval for call in find_all(node, ast.FuncCall)]
        found = [name for name in calls if self.catalogue.volatility.get(name, "i") in kinds]
        if "s" in kinds and find_all(node, ast.SQLValueFunction):
            found.append("current_timestamp")
        return found

    def _judge_lock(self, select: Any) -> None:
        if not select.lockingClause:
            return
        own = list(_own(select, (ast.RangeVar, ast.RangeSubselect, ast.RangeFunction, ast.JoinExpr)))
        relations = [self._relation(node) for node in own if isinstance(node, ast.RangeVar)]
        if not any(relations):
            return
        if len(own) != 1:
            self.faults.append("row locks over a join")
            return
        relation = relations[0]
        assert relation is not None
        if relation.column is not None and self._value_of(select, relation) is None:
            self.faults.append("row locks over several keys")

    def _judge_where_it_runs(self, select: Any) -> None:
        """What is meant for the coordinator would happen on a worker, if it is asked along with a table's rows."""
        if not any(self._relation(node) for node in _own(select, ast.RangeVar)):
            return
        for call in _own(select, ast.FuncCall):
            if COORDINATORS.fullmatch(call.funcname[-1].sval):
                self.faults.append(f"{call.funcname[-1].sval}() on a worker")

    def _judge_span(self, statement: Any) -> None:
        """What spans workers."""
        for clause in find_all(statement, ast.WithClause):
            if clause.recursive:
                self.faults.append("a recursive query over several workers")
        for select in find_all(statement, ast.SelectStmt):
            self._judge_columns(select)
            self._judge_lateral(select)
            self._judge_correlation(select)
            self._judge_joins(select)
            self._judge_aggregates(select)
            self._judge_outline(select)

    def _holds_citus(self, node: Any) -> bool:
        return any(self._relation(found) is not None for found in find_all(node, ast.RangeVar))

    def _holds_distributed(self, node: Any) -> bool:
        found = [self._relation(part) for part in find_all(node, ast.RangeVar)]
        return any(relation is not None and relation.column is not None for relation in found)

    def _judge_lateral(self, select: Any) -> None:
        for part in _own(select, ast.RangeSubselect):
            if part.lateral and self._holds_citus(part.subquery):
                self.faults.append("a lateral sub-query over several workers")

    def _judge_correlation(self, select: Any) -> None:
        for link in _own(select, ast.SubLink):
            inner = link.subselect
            if not self._holds_citus(inner) or not self._refers_out(inner) or not self._holds_distributed(select):
                continue
            if not self._is_beside(select, inner):
                self.faults.append("a correlated sub-query that cannot be pushed down")

    def _is_beside(self, outer: Any, inner: Any) -> bool:
        """EXISTS or a plain look at the same distribution key: the rows lie together."""
        relations = [self._relation(node) for node in _own(inner, ast.RangeVar)]
        if any(relation is None or relation.column is None for relation in relations):
            return False
        if inner.limitCount is not None or _has_aggregate(inner):
            return False
        beside = {
            (relation.alias, relation.column)
            for node in _own(outer, ast.RangeVar)
            if (relation := self._relation(node)) is not None and relation.column is not None
        }
        pairs = list(self._equalities(inner))
        return all(
            relation is not None
            and any(
                {one, other} & beside and {one, other} & {(relation.alias, relation.column), ("", relation.column)}
                for one, other in pairs
            )
            for relation in relations
        )

    def _refers_out(self, inner: Any) -> bool:
        known = {alias for select in find_all(inner, ast.SelectStmt) for alias in self._aliases_below(select)}
        for ref in find_all(inner, ast.ColumnRef):
            names = [part.sval for part in ref.fields if isinstance(part, ast.String)]
            if len(ref.fields) > 1 and names[0] not in known:
                return True
        return False

    def _judge_columns(self, select: Any) -> None:
        """What is sent between nodes has columns with types."""
        if not self._holds_citus(select) or select.op != SetOperation.SETOP_NONE or select.valuesLists:
            return
        if not select.targetList:
            self.faults.append("rows without columns")
        for target in select.targetList or ():
            if isinstance(target.val, ast.RowExpr) or self._is_whole_row(select, target.val):
                self.faults.append("a record without column definitions")

    def _is_whole_row(self, select: Any, value: Any) -> bool:
        return (
            isinstance(value, ast.ColumnRef)
            and len(value.fields) == 1
            and isinstance(value.fields[0], ast.String)
            and value.fields[0].sval in self._aliases_below(select.fromClause)
        )

    def _judge_joins(self, select: Any) -> None:
        """Distributed tables of one FROM lie in one group and are joined by their distribution columns."""
        relations = [
            relation
            for node in _own(select, ast.RangeVar)
            if (relation := self._relation(node)) is not None and relation.column is not None
        ]
        if len(relations) < 2:
            return
        first, *others = relations
        reached = {(first.alias, first.column)}
        pairs = list(self._equalities(select))
        grown = True
        while grown:
            grown = False
            for left, right in pairs:
                for one, other in ((left, right), (right, left)):
                    if one in reached and other is not None and other not in reached:
                        reached.add(other)
                        grown = True
        for other in others:
            if (other.alias, other.column) not in reached or other.group != first.group:
                self.faults.append(f"a join of {first.table} and {other.table} by other than where they lie")

    def _judge_outline(self, select: Any) -> None:
        if not self._holds_distributed(select.fromClause):
            return
        if find_all((select.limitCount, select.limitOffset), ast.SubLink):
            self.faults.append("a sub-query in the LIMIT of what spans workers")
        if any(join.jointype == JoinType.JOIN_FULL and join.usingClause for join in _own(select, ast.JoinExpr)):
            self.faults.append("a FULL JOIN by USING over several workers")

    def _judge_aggregates(self, select: Any) -> None:
        relations = [r for node in _own(select, ast.RangeVar) if (r := self._relation(node)) is not None and r.column]
        if not relations:
            return
        keys = {relation.column for relation in relations}
        grouped = {
            part.fields[-1].sval
            for part in select.groupClause or ()
            if isinstance(part, ast.ColumnRef) and isinstance(part.fields[-1], ast.String)
        }
        if find_all(select.groupClause, ast.GroupingSet):
            self.faults.append("grouping sets over several workers")
        if grouped & keys:
            return
        for call in _own(select, ast.FuncCall):
            if call.funcname[-1].sval in ORDERED_AGGREGATES and call.agg_order:
                self.faults.append(f"an ordered {call.funcname[-1].sval} over several workers")
            if call.agg_within_group:
                self.faults.append("an ordered-set aggregate over several workers")


# --- one part after another ----------------------------------------------------------------------------------------

CHANGES = (ast.InsertStmt, ast.UpdateStmt, ast.DeleteStmt)


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
        seen = [node.relname for node in _own_parts(part) if node is not target or not isinstance(part, ast.InsertStmt)]
        yield from (f"a part that sees {name} as an earlier part has left it" for name in changed.intersection(seen))
        if target is not None:
            changed.add(target.relname)
    yield from _judge_system_columns(statement)


def _own_parts(part: Any) -> Iterator[Any]:
    """The tables of a part, those of its sub-queries included, but not those of its CTEs."""
    for name in part:
        if name != "withClause":
            yield from find_all(getattr(part, name), ast.RangeVar)


def _judge_system_columns(statement: Any) -> Iterator[str]:
    for ref in find_all(statement, ast.ColumnRef):
        name = ref.fields[-1]
        if isinstance(name, ast.String) and name.sval in {"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"}:
            yield f"{name.sval}, which is one worker's own"


# --- walking a parse tree ------------------------------------------------------------------------------------------


def find_all(node: Any, kind: Any) -> list[Any]:
    """Every node of a kind, wherever it stands."""
    return [found for found in _walk(node) if isinstance(found, kind)]


def _walk(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple | list):
        for part in node:
            yield from _walk(part)
    elif isinstance(node, ast.Node):
        yield node
        for name in node:
            yield from _walk(getattr(node, name))


def _own(node: Any, kind: Any, *, include: bool = False) -> Iterator[Any]:
    """Nodes of a kind that belong to this SELECT or change itself: not to sub-queries or CTEs."""
    if include and isinstance(node, kind):
        yield node
    if isinstance(node, tuple | list):
        for part in node:
            yield from _own(part, kind, include=True)
        return
    if not isinstance(node, ast.Node):
        return
    for name in node:
        child = getattr(node, name)
        for part in child if isinstance(child, tuple) else (child,):
            yield from _own_child(part, kind)


def _own_child(node: Any, kind: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        for part in node:
            yield from _own_child(part, kind)
        return
    if not isinstance(node, ast.Node) or isinstance(node, ast.WithClause):
        return
    if isinstance(node, kind):
        yield node
    if isinstance(node, ast.SelectStmt):
        return
    yield from _own(node, kind)


def _conjuncts(node: Any) -> Iterator[Any]:
    if isinstance(node, ast.BoolExpr) and node.boolop == BoolExprType.AND_EXPR:
        for part in node.args:
            yield from _conjuncts(part)
    elif node is not None:
        yield node


def _has_aggregate(select: Any) -> bool:
    names = {"min", "max", "sum", "count", "avg", "bool_or", "bool_and", *ORDERED_AGGREGATES}
    return any(call.funcname[-1].sval in names for call in _own(select, ast.FuncCall))
