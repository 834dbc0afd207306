"""The faults that a machine can think of in a source file: small slips, found in its syntax tree.

Each is one that somebody could make and overlook: an edge of an interval, a condition turned round or forgotten, a
direction mistaken for the other, an argument that is not handed on, a line of SQL left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
NAMES = ("charge discharge", "start end", "buy sell", "bought sold", "first last", "lower upper", "positive negative")
OTHER_NAME = {one: other for a, b in map(str.split, NAMES) for one, other in ((a, b), (b, a))}
SQL = re.compile(r"\b(select|insert into|update|delete from)\b.*\b(from|values|set|where)\b", re.IGNORECASE | re.DOTALL)
SQL_SLIPS = (
    (r"(?<![<>=!@&|-])<(?![=>@<])", "<="),
    (r"<=", "<"),
    (r"(?<![<>=!@&|-])>(?![=>@])", ">="),
    (r"(?<!<)>=", ">"),
    (r"\bis not null\b", "is null"),
    (r"\bis null\b", "is not null"),
    (r" for (no key )?update\b", ""),
    (r" desc\b", ""),
    (r"\bleft join\b", "join"),
    (r"\s+and [^()'\n]+(?=\n|\s+(?:order|group|returning|limit)\b)", ""),
)
SKIPPED_CALLS = ("print(", "super()")


@dataclass(frozen=True, slots=True)
class Slip:
    """`old` stands once in the file: what changes, with as much around it as that takes."""

    line: int
    function: str
    old: str
    new: str


Place = tuple[int, int, str]
"""First byte, the byte after the last, and what takes their place."""


def find_slips(text: str) -> list[Slip]:
    """Those that leave a file that can be read; none of assertions, annotations and decorators."""
    source = Source(text)
    return [
        source.write_slip(place, function)
        for node, function in _walk(ast.parse(text))
        for place in (*source.find_in(node), *source.find_keywords(node))
        if _can_be_read(source.change(place))
    ]


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """The nodes of functions, with the name of the function."""

    def visit(node: ast.AST, function: str) -> Iterator[tuple[ast.AST, str]]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            function = f"{function}.{node.name}".removeprefix(".")
            for statement in node.body:
                yield from visit(statement, function)
            return
        if isinstance(node, (ast.Assert, ast.Import, ast.ImportFrom, ast.AnnAssign)) or _is_for_people(node):
            return
        if function:
            yield node, function
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    yield from visit(tree, "")


def _is_for_people(node: ast.AST) -> bool:
    """A docstring, or a line of the log."""
    match node:
        case ast.Expr(value=ast.Constant() | ast.Call(func=ast.Attribute(value=ast.Name(id="log")))):
            return True
    return False


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _can_be_read(changed: bytes) -> bool:
    try:
        ast.parse(changed)
    except SyntaxError:
        return False
    return True


class Source:
    """The bytes of a file, in which its syntax tree counts."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode()
        self._lines = [0]
        for line in self._bytes.split(b"\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)

    def find_in(self, node: ast.AST) -> Iterator[Place]:
        match node:
            case ast.Compare():
                for operator, left, right in zip(
                    node.ops, [node.left, *node.comparators], node.comparators, strict=False
                ):
                    yield from self._replace_between(left, right, *COMPARISONS[type(operator)])
            case ast.BoolOp():
                words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from self._replace_between(left, right, *words)
                    yield self._span(left)[1], self._span(right)[1], ""
            case ast.UnaryOp(op=ast.Not()):
                yield *self._span(node), f"({self._read(node.operand)})"
            case ast.BinOp() if type(node.op) in ARITHMETIC and not (_is_text(node.left) or _is_text(node.right)):
                yield from self._replace_between(node.left, node.right, *ARITHMETIC[type(node.op)])
            case ast.Call(func=ast.Name() as called) if called.id in CALLS and not node.keywords:
                yield *self._span(called), CALLS[called.id]
            case ast.Attribute(ctx=ast.Load()):
                yield from self._find_in_name(node)
            case ast.Expr(value=ast.Call() | ast.Await()) if not self._read(node).startswith(SKIPPED_CALLS):
                yield *self._span(node), "pass"
            case ast.If() if isinstance(node.body[0], (ast.Raise, ast.Return, ast.Continue)):
                yield *self._span(node.test), "False"
            case ast.comprehension(ifs=conditions):
                for condition in conditions:
                    yield *self._span(condition), "True"
            case ast.Constant(value=str() as value) if SQL.search(value):
                yield from self._find_in_sql(node)

    def find_keywords(self, node: ast.AST) -> Iterator[Place]:
        """Arguments by name that may not be handed on; of a call's only one the call would look odd."""
        if not isinstance(node, ast.Call) or len(node.args) + len(node.keywords) < 2:
            return
        for keyword in node.keywords:
            start, end = self._span(keyword)
            if comma := re.match(rb"\s*,\s*", self._bytes[end:]):
                yield start, end + comma.end(), ""
            elif comma := re.search(rb",\s*$", self._bytes[:start]):
                yield comma.start(), end, ""

    def _find_in_name(self, node: ast.Attribute) -> Iterator[Place]:
        words, end = node.attr.split("_"), self._span(node)[1]
        if found := [place for place, word in enumerate(words) if word in OTHER_NAME]:
            words[found[0]] = OTHER_NAME[words[found[0]]]
            yield end - len(node.attr.encode()), end, "_".join(words)

    def _find_in_sql(self, node: ast.Constant) -> Iterator[Place]:
        start, end = self._span(node)
        for slip, new in SQL_SLIPS:
            for match in re.finditer(slip.encode(), self._bytes[start:end], re.IGNORECASE):
                yield start + match.start(), start + match.end(), new

    def _span(self, part: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        assert part.end_lineno is not None
        assert part.end_col_offset is not None
        return self._lines[part.lineno - 1] + part.col_offset, self._lines[part.end_lineno - 1] + part.end_col_offset

    def _read(self, part: ast.expr | ast.stmt) -> str:
        start, end = self._span(part)
        return self._bytes[start:end].decode()

    def _replace_between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[Place]:
        start, end = self._span(left)[1], self._span(right)[0]
        word = rf"\b{old}\b".replace(" ", r"\s+") if old[0].isalpha() else re.escape(old)
        if match := re.search(word.encode(), self._bytes[start:end]):
            yield start + match.start(), start + match.end(), new

    def change(self, place: Place) -> bytes:
        start, end, new = place
        return self._bytes[:start] + new.encode() + self._bytes[end:]

    def write_slip(self, place: Place, function: str) -> Slip:
        """With as many lines around it as make it stand once."""
        start, end, new = place
        line = self._bytes[:start].count(b"\n") + 1
        first, last = start, end
        while first == last or self._bytes.count(self._bytes[first:last]) != 1:
            first = self._bytes.rfind(b"\n", 0, max(first - 1, 0)) + 1
            after = self._bytes.find(b"\n", last + 1)
            last = len(self._bytes) if after == -1 else after
        changed = self._bytes[first:start] + new.encode() + self._bytes[end:last]
        return Slip(line, function, self._bytes[first:last].decode(), changed.decode())
