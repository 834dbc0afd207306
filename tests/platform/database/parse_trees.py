"""Walking the parse tree of a statement: all of it, or what belongs to one SELECT or change itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pglast import ast as nodes
from pglast.enums import BoolExprType

ast: Any = nodes  # its types know less than the tree does

CHANGES = (ast.InsertStmt, ast.UpdateStmt, ast.DeleteStmt)


_MAX_WALKED = 1000
_walked: dict[int, tuple[Any, list[Any]]] = {}
"""The nodes below those that were asked for last: a statement is looked through some twenty times, for other kinds."""


def find_all(node: Any, kind: Any) -> list[Any]:
    """Every node of a kind, wherever it stands."""
    return [found for found in _list_nodes(node) if isinstance(found, kind)]


def _list_nodes(node: Any) -> list[Any]:
    if id(node) not in _walked:
        if len(_walked) == _MAX_WALKED:
            _walked.clear()
        _walked[id(node)] = (node, list(_walk(node)))  # along with the node, so that no other one has its number
    return _walked[id(node)][1]


def _walk(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple | list):
        for part in node:
            yield from _walk(part)
    elif isinstance(node, ast.Node):
        yield node
        for name in node:
            yield from _walk(getattr(node, name))


def find_own(node: Any, kind: Any, *, include: bool = False) -> Iterator[Any]:
    """Nodes of a kind that belong to this SELECT or change itself: not to sub-queries or CTEs."""
    if include and isinstance(node, kind):
        yield node
    if isinstance(node, tuple | list):
        for part in node:
            yield from find_own(part, kind, include=True)
        return
    if not isinstance(node, ast.Node):
        return
    for name in node:
        child = getattr(node, name)
        for part in child if isinstance(child, tuple) else (child,):
            yield from _find_own_child(part, kind)


def _find_own_child(node: Any, kind: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        for part in node:
            yield from _find_own_child(part, kind)
        return
    if not isinstance(node, ast.Node) or isinstance(node, ast.WithClause):
        return
    if isinstance(node, kind):
        yield node
    if isinstance(node, ast.SelectStmt):
        return
    yield from find_own(node, kind)


def split_conjuncts(node: Any) -> Iterator[Any]:
    """The conditions that all have to hold."""
    if isinstance(node, ast.BoolExpr) and node.boolop == BoolExprType.AND_EXPR:
        for part in node.args:
            yield from split_conjuncts(part)
    elif node is not None:
        yield node


def read_column(node: Any) -> tuple[str, str] | None:
    """A column's alias, which may be missing, and its name."""
    if not isinstance(node, ast.ColumnRef):
        return None
    names = [part.sval for part in node.fields if isinstance(part, ast.String)]
    if not names:
        return None  # all of them: *
    return ("", names[0]) if len(names) == 1 else (names[0], names[-1])


def name_function(call: Any) -> str:
    name: str = call.funcname[-1].sval
    return name
