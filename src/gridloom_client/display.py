"""How clients, items and answers show themselves: `repr` within a line, HTML in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any, Final

HTML_ROWS: Final = 20
SECRET_FIELDS: Final = frozenset(
    {"secret", "token", "access_token", "refresh_token", "recovery_codes", "uri", "challenge", "client_secret"}
)
MAX_TEXT: Final = 60


def short_text(value: Any) -> str:
    """A value within a line: a long sequence or mapping by its length, a long text cut."""
    if isinstance(value, tuple | list) and len(value) > 3:
        return f"({len(value)} × {type(value[0]).__name__})"
    if isinstance(value, Mapping) and len(value) > 3:
        return f"{{{len(value)} names}}"
    if isinstance(value, datetime):
        return value.isoformat()
    text = repr(value) if isinstance(value, str | tuple | list | Mapping) else str(value)
    return text if len(text) <= MAX_TEXT or not isinstance(value, str) else f"{text[: MAX_TEXT - 1]}…"


def facts_html(title: str, facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in facts)
    return f"<table><caption>{escape(title)}</caption><tbody>{rows}</tbody></table>"


def table_html(names: Sequence[str], rows: Sequence[Mapping[str, Any]], total: int) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_show_cell(n, row.get(n)))}</td>" for n in names) + "</tr>" for row in rows
    )
    more = f"<p>{total} rows, the first {len(rows)} shown</p>" if total > len(rows) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _show_cell(name: str, value: Any) -> str:
    if name in SECRET_FIELDS:
        return "…"
    return "" if value is None else value.isoformat() if isinstance(value, datetime) else str(value)
