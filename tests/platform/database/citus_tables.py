"""What the names in a statement stand for on a distributed database (Citus), and which worker its tables mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import asyncpg
from tests.platform.database.parse_trees import CHANGES, ast, find_all, find_own, read_column, split_conjuncts

from gridloom.platform.database.citus import PLACEMENT_OF, TableKind


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


@dataclass(frozen=True, slots=True)
class Relation:
    """A Citus table at one place of a statement."""

    alias: str
    table: str
    column: str | None  # None for a reference table
    group: str | None

    @property
    def places(self) -> set[Any]:
        """How its distribution column may be called beside it."""
        return {(self.alias, self.column), ("", self.column)}


class Names:
    """The names of one statement; `variables` are those that the function around it gives it."""

    def __init__(self, statement: Any, catalogue: Catalogue, variables: frozenset[str]) -> None:
        self.catalogue = catalogue
        self._variables = variables
        self._ctes = {cte.ctename for cte in find_all(statement, ast.CommonTableExpr)}

    def find_relation(self, node: Any) -> Relation | None:
        """The Citus table that a name stands for; a view stands for the first of its tables, all are alike in that."""
        name = node.relname
        if name in self._ctes or node.schemaname == "pg_temp":
            return None
        for table in sorted(self.catalogue.views.get(name, {name})):
            placement = PLACEMENT_OF.get(table)
            if placement is None or placement.kind is TableKind.LOCAL:
                continue
            alias = node.alias.aliasname if node.alias else name
            return Relation(alias, name, placement.column, placement.group)
        return None

    def find_relations(self, parts: Iterable[Any]) -> list[Relation]:
        """Of the tables among these nodes."""
        named = [self.find_relation(node) for node in parts if isinstance(node, ast.RangeVar)]
        return [relation for relation in named if relation is not None]

    def find_distributed(self, owner: Any) -> list[Relation]:
        """Those in the FROM of a SELECT or change itself."""
        return [one for one in self.find_relations(find_own(owner, ast.RangeVar)) if one.column is not None]

    def holds_citus(self, node: Any) -> bool:
        return bool(self.find_relations(find_all(node, ast.RangeVar)))

    def holds_distributed(self, node: Any) -> bool:
        return any(one.column is not None for one in self.find_relations(find_all(node, ast.RangeVar)))

    def holds_local(self, node: Any) -> bool:
        """A table of the coordinator's takes part; what a changed one is given does not count."""
        return any(
            (placement := PLACEMENT_OF.get(part.relname)) is not None
            and placement.kind is TableKind.LOCAL
            and part.relname not in self._ctes
            for part in find_all(node, ast.RangeVar)
        )

    def is_bound(self, statement: Any) -> bool:
        """Whether every distributed table of the statement is held to one and the same given value."""
        values = {
            self.find_value(owner, relation)
            for owner in find_all(statement, (ast.SelectStmt, *CHANGES))
            for relation in self.find_distributed(owner)
        }
        return len(values) == 1 and None not in values

    def find_value(self, owner: Any, relation: Relation) -> str | None:
        """The parameter or constant to which the relation's distribution column is equal, by a condition beside it.

        What holds for a column of the query around it is not known when the workers are chosen.
        """
        if isinstance(owner, ast.InsertStmt):
            return self._find_inserted_value(owner, relation)
        reached = reach(relation.places, self.find_equalities(owner))
        return next((one for one in reached if isinstance(one, str)), None)

    def _find_inserted_value(self, insert: Any, relation: Relation) -> str | None:
        columns = [column.name for column in insert.cols or ()]
        select = insert.selectStmt
        if relation.column not in columns or select is None:
            return None
        place = columns.index(relation.column)
        if len(select.valuesLists or ()) == 1:
            return self._read_given(select.valuesLists[0][place])
        targets = select.targetList or ()
        return self._read_given(targets[place].val) if place < len(targets) else None

    def find_equalities(self, owner: Any) -> list[tuple[Any, Any]]:
        """What is equal to what: columns as (alias, name), given values as texts, anything else as None."""
        return [*self._find_equal_terms(owner), *self._find_equal_names(owner)]

    def _find_equal_terms(self, owner: Any) -> Iterator[tuple[Any, Any]]:
        wheres = [getattr(owner, "whereClause", None), *(join.quals for join in find_own(owner, ast.JoinExpr))]
        for condition in (part for where in wheres for part in split_conjuncts(where)):
            if isinstance(condition, ast.A_Expr) and [n.sval for n in condition.name] == ["="] and condition.kind == 0:
                yield self._read_term(condition.lexpr), self._read_term(condition.rexpr)

    def _find_equal_names(self, owner: Any) -> Iterator[tuple[Any, Any]]:
        for join in find_own(owner, ast.JoinExpr):
            for name in join.usingClause or ():
                for left in find_aliases(join.larg):
                    for right in find_aliases(join.rarg):
                        yield (left, name.sval), (right, name.sval)

    def _read_term(self, node: Any) -> Any:
        given = self._read_given(node)
        return given if given is not None else read_column(_strip_casts(node))

    def _read_given(self, node: Any) -> str | None:
        node = _strip_casts(node)
        if isinstance(node, ast.ParamRef):
            return f"${node.number}"
        if isinstance(node, ast.A_Const):
            return str(node.val)
        column = read_column(node)
        if column is not None and len(node.fields) == 1 and column[1] in self._variables:
            return f":{column[1]}"
        return None


def reach(start: Iterable[Any], pairs: list[tuple[Any, Any]]) -> list[Any]:
    """All that is equal to what one starts with, one equality leading to the next, the nearest first."""
    reached = list(start)
    grown = True
    while grown:
        grown = False
        for left, right in pairs:
            for one, other in ((left, right), (right, left)):
                if one in reached and other is not None and other not in reached:
                    reached.append(other)
                    grown = True
    return reached


FROM = (ast.RangeVar, ast.RangeSubselect, ast.RangeFunction)


def find_aliases(node: Any, kinds: Any = FROM) -> set[str]:
    """What the tables, sub-queries and functions of a FROM are called."""
    found = set()
    for part in find_own(node, kinds, include=True):
        if part.alias:
            found.add(part.alias.aliasname)
        elif isinstance(part, ast.RangeVar):
            found.add(part.relname)
    return found


def _strip_casts(node: Any) -> Any:
    while isinstance(node, ast.TypeCast):
        node = node.arg
    return node
