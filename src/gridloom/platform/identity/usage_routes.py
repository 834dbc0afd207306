"""An organisation's use of each of its shares: `GET /organisations/{organisationID}/usage`."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from gridloom.kernel.copying import copy_fields
from gridloom.kernel.shares import Share
from gridloom.platform.http import SIGNED_IN, Request, ResponseBody, operation
from gridloom.platform.http.shares import Meter
from gridloom.platform.identity.authorization import ORGANISATION, authorize_organisation

TAG = "Organisations"

_EXACT: Final = frozenset({Share.JOBS, Share.EVENT_STREAMS, Share.INVITATIONS, Share.API_KEYS, Share.STORED_TELEMETRY})
_IN_BYTES: Final = frozenset({Share.BODY_BYTES, Share.UNREAD_ANSWERS, Share.STORED_TELEMETRY})


class ShareUsage(ResponseBody):
    """One share of an organisation and its use."""

    share: Share
    used: int
    limit: int | None
    unit: Literal["COUNT", "BYTES"]
    counted: Literal["REPLICA", "PLATFORM"]
    per_minute: int | None
    per_user: int | None
    waiting: int | None
    max_waiting: int | None
    as_of: datetime | None


class Usage(ResponseBody):
    """Every share of an organisation."""

    organisation_id: UUID
    shares: list[ShareUsage]


@operation(
    "GET",
    ORGANISATION + "/usage",
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
    counted = "PLATFORM" if share in _EXACT else "REPLICA"
    unit = "BYTES" if share in _IN_BYTES else "COUNT"
    return copy_fields(ShareUsage, use, share=share, unit=unit, counted=counted)
