"""The query of a request, as pairs of names and values."""

from __future__ import annotations

from urllib.parse import parse_qsl

from gridloom.kernel.problem import BadRequest, FieldError


def split_query(query_string: bytes) -> list[tuple[str, str]]:
    if not query_string:
        return []
    try:
        return parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=100,
        )
    except ValueError:
        raise BadRequest("The query is not a list of name=value pairs in UTF-8.") from None


def reject_query(query_string: bytes) -> None:
    """For an operation that takes none."""
    names = sorted({name for name, _ in split_query(query_string)})
    raise BadRequest(
        f"This operation takes no query parameters, and was given {', '.join(names)}.",
        errors=[FieldError(f"query:{name}", "is not a parameter of this operation") for name in names],
    )
