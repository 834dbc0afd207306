"""Rules of the codes in metadata beyond their shape."""

from __future__ import annotations

from gridloom.kernel.codes import EicKind
from gridloom.kernel.problem import Problem
from gridloom.physical_assets.metadata.model import ContractMetadata, GridMetadata, MarketMetadata, MetadataBody
from gridloom.physical_assets.rules import check_eic_code


class InconsistentMetadata(Problem, status=422, title="The metadata contradicts itself"):
    """Two fields of the metadata contradict each other, such as a contract that ends before it starts."""


def check_metadata(body: MetadataBody) -> None:
    if isinstance(body, GridMetadata):
        check_eic_code(body.eic_code, "/eicCode", EicKind.RESOURCE)
    if isinstance(body, MarketMetadata):
        check_eic_code(body.bidding_zone, "/biddingZone", EicKind.AREA)
        check_eic_code(body.balancing_group, "/balancingGroup", EicKind.PARTY)
        check_eic_code(body.market_participant_eic, "/marketParticipantEic", EicKind.PARTY)
    if isinstance(body, ContractMetadata):
        _check_order(body)


def _check_order(body: ContractMetadata) -> None:
    if body.starts_on is None or body.ends_on is None or body.starts_on <= body.ends_on:
        return
    detail = f"The contract ends on {body.ends_on}, before it starts on {body.starts_on}."
    raise InconsistentMetadata.at("/endsOn", detail)
