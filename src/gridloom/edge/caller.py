"""Who is asking: what every operation may rely on once a token has been verified."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Caller:
    """A signed-in person or machine, with what its organisation and role allow."""

    id: UUID
    kind: str
    """`USER` or `API_KEY`."""
    organisation_id: UUID
    organisation_kind: str
    """`OPERATOR` or `PARTICIPANT`."""
    role: str
    permissions: frozenset[str]
    session_id: UUID
    username: str
    display_name: str

    @property
    def is_operator(self) -> bool:
        return self.organisation_kind == "OPERATOR"

    @property
    def key(self) -> str:
        """What idempotency keys and rate limits are counted by."""
        return f"{self.kind}:{self.id}"
