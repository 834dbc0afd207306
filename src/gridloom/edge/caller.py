"""Who is asking: what every operation may rely on once a token has been verified."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    key: str = field(init=False, repr=False, compare=False)
    """What idempotency keys and rate limits are counted by; written once, since every request asks for it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"{self.kind}:{self.id}")

    @property
    def is_operator(self) -> bool:
        return self.organisation_kind == "OPERATOR"
