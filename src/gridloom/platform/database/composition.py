"""Statements that share parts: column lists and joins that are constants of a store."""

from __future__ import annotations


def compose(template: str, **parts: str | int) -> str:
    """The template with its `{parts}` filled in. Constants of the code alone: what a request says is a parameter."""
    return template.format(**parts)
