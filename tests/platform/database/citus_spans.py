"""What a distributed database (Citus) refuses of statements that span workers: it must be put together from parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pglast.enums import JoinType, SetOperation
from tests.platform.database.citus_tables import Names, find_aliases, reach
from tests.platform.database.parse_trees import CHANGES, ast, find_all, find_own, name_function, read_column

ORDERED_AGGREGATES = {"array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg"}
AGGREGATES = {"min", "max", "sum", "count", "avg", "bool_or", "bool_and", *ORDERED_AGGREGATES}


def judge_span(statement: Any, names: Names) -> Iterator[str]:
    for clause in find_all(statement, ast.WithClause):
        if clause.recursive:
            yield "a recursive query over several workers"
    for owner in find_all(statement, (ast.SelectStmt, *CHANGES)):
        yield from _judge_lateral(owner, names)
        yield from _judge_correlation(owner, names)
        yield from _judge_joins(owner, names)
    for select in find_all(statement, ast.SelectStmt):
        yield from _judge_columns(select, names)
        yield from _judge_aggregates(select, names)
        yield from _judge_outline(select, names)


def _judge_columns(select: Any, names: Names) -> Iterator[str]:
    if not names.holds_citus(select) or select.op != SetOperation.SETOP_NONE or select.valuesLists:
        return
    if not select.targetList:
        yield "rows without columns"


def judge_records(owner: Any, names: Names) -> Iterator[str]:
    """What is sent between nodes has columns with types, be it from one worker or from several."""
    if not names.holds_citus(owner):
        return
    returned = getattr(owner, "returningClause", None)
    targets = owner.targetList if isinstance(owner, ast.SelectStmt) else returned and returned.exprs
    aliases = find_aliases(owner, (ast.RangeVar, ast.RangeSubselect))  # a function's is its column, if it has one
    if any(_is_record(target.val, aliases) for target in targets or ()):
        yield "a record without column definitions"


def _is_record(value: Any, aliases: set[str]) -> bool:
    """A row put together, a table's whole row, or many of them."""
    if isinstance(value, ast.FuncCall) and name_function(value) in ("array_agg", "min", "max", "coalesce"):
        return any(_is_record(argument, aliases) for argument in value.args or ())
    if isinstance(value, ast.A_ArrayExpr):
        return any(_is_record(element, aliases) for element in value.elements or ())
    whole = read_column(value) if isinstance(value, ast.ColumnRef) and len(value.fields) == 1 else None
    return isinstance(value, ast.RowExpr) or (whole is not None and whole[1] in aliases)


def _judge_lateral(owner: Any, names: Names) -> Iterator[str]:
    for part in find_own(owner, ast.RangeSubselect):
        if part.lateral and (names.holds_citus(part.subquery) or _gathers(part.subquery)):
            yield "a lateral sub-query over several workers"


def _judge_correlation(owner: Any, names: Names) -> Iterator[str]:
    for link in find_own(owner, ast.SubLink):
        inner = link.subselect
        if not refers_out(inner) or not names.holds_distributed(owner):
            continue
        pushed = _lies_beside(owner, inner, names) if names.holds_citus(inner) else not _gathers(inner)
        if not pushed:
            yield "a correlated sub-query that cannot be pushed down"


def _gathers(inner: Any) -> bool:
    """What several rows make, which a worker alone would have to know for each of the query around it."""
    return (
        inner.limitCount is not None
        or inner.limitOffset is not None
        or bool(inner.distinctClause)
        or bool(inner.groupClause)
        or inner.op != SetOperation.SETOP_NONE
        or _has_aggregate(inner)
    )


def refers_out(inner: Any) -> bool:
    known = {alias for select in find_all(inner, ast.SelectStmt) for alias in find_aliases(select)}
    for ref in find_all(inner, ast.ColumnRef):
        named = [part.sval for part in ref.fields if isinstance(part, ast.String)]
        if len(ref.fields) > 1 and named[0] not in known:
            return True
    return False


def _lies_beside(outer: Any, inner: Any, names: Names) -> bool:
    """EXISTS or a plain look at the same distribution key: the rows lie together."""
    relations = names.find_distributed(inner)
    if len(relations) != len(list(find_own(inner, ast.RangeVar))):
        return False
    if _gathers(inner):
        return False
    beside = {(relation.alias, relation.column) for relation in names.find_distributed(outer)}
    pairs = names.find_equalities(inner)
    return all(any({*pair} & beside and {*pair} & relation.places for pair in pairs) for relation in relations)


def _has_aggregate(select: Any) -> bool:
    return any(name_function(call) in AGGREGATES for call in find_own(select, ast.FuncCall))


def _judge_joins(select: Any, names: Names) -> Iterator[str]:
    """Distributed tables of one FROM lie in one group and are joined by their distribution columns directly.

    That each is equal to a column of a reference table is no such join: it is refused as repartitioning.
    """
    relations = names.find_distributed(select)
    if len(relations) < 2:
        return
    first, *others = relations
    columns = {(relation.alias, relation.column) for relation in relations}
    direct = [
        pair for pair in names.find_equalities(select) if all(one in columns or isinstance(one, str) for one in pair)
    ]
    reached = reach([(first.alias, first.column)], direct)
    for other in others:
        if (other.alias, other.column) not in reached or other.group != first.group:
            yield f"a join of {first.table} and {other.table} by other than where they lie"


def _judge_aggregates(select: Any, names: Names) -> Iterator[str]:
    keys = {relation.column for relation in names.find_distributed(select)}
    if not keys:
        return
    if find_all(select.groupClause, ast.GroupingSet):
        yield "grouping sets over several workers"
    grouped = {
        part.fields[-1].sval
        for part in select.groupClause or ()
        if isinstance(part, ast.ColumnRef) and isinstance(part.fields[-1], ast.String)
    }
    if grouped & keys:
        return
    for call in find_own(select, ast.FuncCall):
        if name_function(call) in ORDERED_AGGREGATES and call.agg_order:
            yield f"an ordered {name_function(call)} over several workers"
        if call.agg_within_group:
            yield "an ordered-set aggregate over several workers"


def _judge_outline(select: Any, names: Names) -> Iterator[str]:
    if not names.holds_distributed(select.fromClause):
        return
    if find_all((select.limitCount, select.limitOffset), ast.SubLink):
        yield "a sub-query in the LIMIT of what spans workers"
    if any(join.jointype == JoinType.JOIN_FULL and join.usingClause for join in find_own(select, ast.JoinExpr)):
        yield "a FULL JOIN by USING over several workers"
