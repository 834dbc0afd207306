"""The rows of a bulk request, read as the service reads them."""

from collections.abc import Sequence

from gridloom.settlements.decoding import InvalidRows, read_rows, reject_rows
from gridloom.settlements.model import FactKind, Row


def decode_rows(kind: FactKind, body: bytes, media_type: str) -> Sequence[Row]:
    """Every row that cannot be read, up to a hundred, in one refusal."""
    try:
        return read_rows(kind, body, media_type)
    except InvalidRows as faulty:
        raise reject_rows(faulty.errors, faulty.total) from None
