"""What an organisation uses of each of its shares: `GET /organisations/{organisationID}/usage`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

from msgspec import Meta

from gridloom.edge import SIGNED_IN, Request, ResponseBody, operation
from gridloom.edge.shares import Meter
from gridloom.identity.authorization import authorize_organisation
from gridloom.kernel.shares import Share

TAG = "Organisations"

_EXACT: Final = frozenset({Share.JOBS, Share.EVENT_STREAMS, Share.API_KEYS, Share.STORED_TELEMETRY})
_UNITS: Final[dict[Share, Literal["COUNT", "BYTES"]]] = {Share.BODY_BYTES: "BYTES", Share.STORED_TELEMETRY: "BYTES"}


class ShareUsage(ResponseBody):
    """One share of an organisation and its use."""

    share: Annotated[Share, Meta(description="The name that a 429 has in `share`", examples=[Share.COMPUTATIONS.value])]
    used: Annotated[int, Meta(description="How much of it is used", examples=[1])]
    limit: Annotated[int | None, Meta(description="How much there is; null: no limit", examples=[2])]
    unit: Annotated[Literal["COUNT", "BYTES"], Meta(description="What used and limit count")]
    counted: Annotated[
        Literal["REPLICA", "PLATFORM"],
        Meta(description="Whether each replica counts by itself, and this is the one that answered, or all together"),
    ]
    per_minute: Annotated[int | None, Meta(description="How much comes back in a minute")]
    per_user: Annotated[int | None, Meta(description="How much one member may have")]
    waiting: Annotated[int | None, Meta(description="What waits for its turn")]
    max_waiting: Annotated[int | None, Meta(description="How much may wait")]
    as_of: Annotated[datetime | None, Meta(description="When it was counted, where that is not now")]


class Usage(ResponseBody):
    """Every share of an organisation."""

    organisation_id: UUID
    shares: Annotated[list[ShareUsage], Meta(description="One for each share")]


@operation(
    "GET",
    "/organisations/{organisationID}/usage",
    summary="Read what an organisation uses of its shares",
    access=SIGNED_IN,
    asset_scope="free",
)
async def read_usage(request: Request, organisation_id: UUID) -> Usage:
    """For any member. Beyond a share requests are answered 429 `share-exceeded` with its name; API keys and stored
    telemetry 409."""
    await authorize_organisation(request.db, request.caller, organisation_id)
    shares = [
        await _view_share(request, organisation_id, share, meter) for share, meter in request.shares.meters.items()
    ]
    return Usage(organisation_id=organisation_id, shares=shares)


async def _view_share(request: Request, organisation_id: UUID, share: Share, meter: Meter) -> ShareUsage:
    use = await meter(request.db, organisation_id)
    return ShareUsage(
        share=share,
        used=use.used,
        limit=use.limit,
        unit=_UNITS.get(share, "COUNT"),
        counted="PLATFORM" if share in _EXACT else "REPLICA",
        per_minute=use.per_minute,
        per_user=use.per_user,
        waiting=use.waiting,
        max_waiting=use.max_waiting,
        as_of=use.as_of,
    )
