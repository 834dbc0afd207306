"""Who is asking: what every operation may rely on once a token has been verified."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from gridloom.kernel.networks import Network, is_within


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
    allowed_networks: tuple[tuple[Network, ...], ...] = ()
    """Lists of networks, in each of which the caller's address must lie: the organisation's and an API key's."""
    physical_asset_ids: frozenset[UUID] | None = None
    """The only assets an API key reaches; None where it reaches whatever its organisation does."""
    has_second_factor: bool = False
    must_enrol: bool = False
    """Whether the organisation demands a second factor and this person has none yet."""
    key: str = field(init=False, repr=False, compare=False)
    """The key of idempotency records and rate limits; written once, since every request asks for it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"{self.kind}:{self.id}")

    @property
    def is_operator(self) -> bool:
        return self.organisation_kind == "OPERATOR"

    @property
    def bearer_name(self) -> str:
        """The bearer of permissions: a key is no role."""
        return "API key" if self.kind == "API_KEY" else f"role {self.role}"

    def is_allowed_from(self, address: str) -> bool:
        return all(is_within(address, networks) for networks in self.allowed_networks)
