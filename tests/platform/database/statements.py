"""Every statement that the stores can send, gathered from their sources: as they stand, or put together."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import gridloom
from gridloom.platform.database.statement import NamedStatement

SOURCES = Path(gridloom.__file__).parent
SQL = re.compile(
    r"\s*(--[^\n]*\n\s*)*(?!(?-i:[A-Z][a-z]))(select|insert|update|delete|with|merge)\s(?![\d ]+$)", re.IGNORECASE
)
BEGINS_LIKE_SQL = re.compile(
    r"""["'](?:\s|\\n|\\\n|--[^\n]*\n)*(?:select|insert|update|delete|with|merge)\s""", re.IGNORECASE
)
"""Somewhere in a source: a literal that may be a statement."""
PIECES = {
    "auctions/bid_store.py:_OFFERS",
    "auctions/bid_store.py:_OWN_BIDS",
    "auctions/bid_store.py:_PLACE",
    "delivery/inputs/zone_status_store.py:_STATUS",
    "platform/identity/store/grants.py:_GRANT",
    "platform/identity/store/invitations.py:_INVITATION",
    "platform/identity/store/organisations.py:_ORGANISATION",
    "optimiser/backtests/store.py:_DAYS",
    "physical_assets/store.py:_ASSET",
    "virtual_assets/schedule/change/store.py:_BLOCKS",
    "virtual_assets/schedule/change/store.py:_DAYS",
    "virtual_assets/schedule/change/store.py:_SPANS",
    "reference_prices/store.py:_SETTLED",
    "virtual_assets/backing/store.py:LIST_ASSETS",
    "virtual_assets/store.py:LIST_ASSETS",
}
"""Texts from which a module makes its statements, and which are none themselves."""
ELSEWHERE = {
    "platform/database/migrate.py",
    "platform/database/environment.py",
    "platform/database/emptying.py",
    "platform/backups/continuous.py",
    "platform/backups/contents_store.py",
    "platform/database/server/embedded.py",
}
"""What makes a database, not what works with one."""


@dataclass(frozen=True, slots=True)
class Statement:
    place: str
    sql: str


@dataclass(frozen=True, slots=True)
class Composed:
    """A text with names in it that only its function knows."""

    place: str
    text: str


@cache
def gather() -> tuple[list[Statement], list[Composed]]:
    """The statements that stand in the sources, and those that are composed at run time by functions."""
    found: list[Statement] = []
    composed: list[Composed] = []
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if name in ELSEWHERE:
            continue
        stand, are_composed = gather_module(name, "gridloom." + name.removesuffix(".py").replace("/", "."))
        found += stand
        composed += are_composed
    return found, composed


def gather_module(name: str, module: str) -> tuple[list[Statement], list[Composed]]:
    """The same of one module; `name` is what its statements' places begin with."""
    found: list[Statement] = []
    composed: list[Composed] = []
    loaded = importlib.import_module(module)
    assert loaded.__file__ is not None
    names = vars(loaded)
    for function, node in _read_texts(Path(loaded.__file__).read_text(encoding="utf-8"), names):
        place = f"{name}:{function}"
        text = _read_text(node, names)
        if text is None:
            composed.append(Composed(place, ast.unparse(node)))
        elif SQL.match(text):
            found.append(Statement(place, text))
    for variable, value in names.items():
        if f"{name}:{variable}" in PIECES or (isinstance(value, type) and value.__module__ != module):
            continue
        found += [Statement(f"{name}:{variable}", text) for text in _find_sql(value)]
    return found, composed


def _read_texts(source: str, names: dict[str, object]) -> Iterator[tuple[str, ast.expr]]:
    """Texts in functions of a module; one without any literal or name that begins like a statement is not parsed."""
    if BEGINS_LIKE_SQL.search(source) or any(isinstance(one, str) and SQL.match(one) for one in names.values()):
        yield from _texts(ast.parse(source), names)


def _find_sql(value: object) -> Iterator[str]:
    """The statements that a module's variable holds: as itself, one after another, by names, or as a class's own."""
    text = value.text if isinstance(value, NamedStatement) else value
    if isinstance(text, str) and SQL.match(text):
        yield text
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _find_sql(part)
    elif isinstance(value, tuple | list | set | frozenset):
        for part in value:
            yield from _find_sql(part)
    elif isinstance(value, type):
        for name, part in vars(value).items():
            if not name.startswith("__"):
                yield from _find_sql(part)


_TEXTS = (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Call)


def _texts(tree: ast.AST, names: dict[str, object], function: str = "") -> Iterator[tuple[str, ast.expr]]:
    """Texts in functions, with their names; what stands in a module's variables is read off these."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue  # a docstring
        if function and isinstance(child, _TEXTS) and _begins_like_sql(child, names):
            yield function, child
            continue
        inner = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        yield from _texts(child, names, inner)


def _begins_like_sql(node: ast.expr, names: dict[str, object]) -> bool:
    """A string, one with names in it, one that is added to another or to a module's variable, or a composed one."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and SQL.match(node.value) is not None
    if isinstance(node, ast.JoinedStr):
        return bool(node.values) and _begins_like_sql(node.values[0], names)
    if isinstance(node, ast.FormattedValue):
        return _begins_like_sql(node.value, names)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _begins_like_sql(node.left, names)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "compose" and _begins_like_sql(node.args[0], names)
    if isinstance(node, ast.Name):
        value = names.get(node.id)
        return isinstance(value, str) and SQL.match(value) is not None
    return False


def _read_text(node: ast.expr, names: dict[str, object]) -> str | None:
    """What the text is, if the module's names are all that is in it."""
    try:
        return str(eval(compile(ast.Expression(node), "statement", "eval"), dict(names)))
    except NameError:
        return None


def find_queries(node: Any) -> Iterator[str]:
    """The statements of a function in PL/pgSQL; its bare expressions read no table."""
    if isinstance(node, list):
        for part in node:
            yield from find_queries(part)
    elif isinstance(node, dict):
        expression = node.get("PLpgSQL_expr")
        if expression is not None and expression.get("parseMode", 0) == 0:
            yield expression["query"]
        for part in node.values():
            yield from find_queries(part)
