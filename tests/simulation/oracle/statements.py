"""Statements of all parties together: what one organisation pays another receives, line by line (contract 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

OUTSIDERS = frozenset({"MARKET", "GRID_OPERATOR", "OUTSIDE"})


def find_imbalance(statements: Iterable[dict[str, Any]]) -> str | None:
    """Of everyone's statements over the same window, each fact's two sides among them: the line whose payments between
    organisations do not add up to nothing."""
    cents: Counter[str] = Counter()
    for statement in statements:
        for line in statement["lines"]:
            if line["counterparty"] not in OUTSIDERS:
                cents[line["line"]] += round(100 * line["amount"])
    off = {line: amount for line, amount in cents.items() if amount}
    return f"lines between organisations that add up to 0.00, not {off} cents" if off else None


def find_unbalanced_line(lines: Iterable[dict[str, Any]]) -> dict[str, int] | None:
    """Of the sums by line and party, the market and the grid operators among them, in cents: those that are not 0."""
    cents: Counter[str] = Counter()
    for line in lines:
        cents[line["line"]] += round(100 * line["amount"])
    return {line: amount for line, amount in cents.items() if amount} or None
