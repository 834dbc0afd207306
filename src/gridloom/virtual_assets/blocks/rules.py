"""Rules of blocks: the limits of a new one, carving it out of wholesale blocks and giving it back; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gridloom.kernel.figures import kw, say
from gridloom.kernel.ids import BlockID, uuid7
from gridloom.kernel.market_time import format_instant, is_block_start, period_start
from gridloom.kernel.problem import FieldError, Problem
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.kernel.window import Window
from gridloom.market_calendar import format_period
from gridloom.virtual_assets.model import Block, Market, VirtualAsset


class BlockOutsideAsset(Problem, status=422, title="The block does not fit its asset"):
    """A block lies within its asset's life and takes some of its power."""


class NotAMarketProduct(Problem, status=422, title="The block is not one of the market's products"):
    """FCR and aFRR blocks are the market's products: they start and end on its four-hour blocks, on the wall clock in
    Berlin, and FCR is symmetric."""


def check_market_product(market: Market, window: Window, charge_kw: float, discharge_kw: float) -> None:
    if market is Market.WHOLESALE:
        return
    off = [name for name, instant in (("start", window.start), ("end", window.end)) if not is_block_start(instant)]
    if off:
        raise NotAMarketProduct(
            f"{market} comes in blocks of four hours from midnight in Berlin on.",
            [FieldError(f"/{name}", "Expected the edge of a four-hour block.") for name in off],
        )
    if market is Market.FCR and charge_kw != discharge_kw:
        raise NotAMarketProduct(
            say("FCR goes both ways alike, not {} of charging and {} of discharging.", kw(charge_kw), kw(discharge_kw)),
            [FieldError("/ratedChargePower", "Expected the same power in both directions.")],
        )


def check_new_block(asset: VirtualAsset, span: tuple[int, int], charge_kw: float, discharge_kw: float) -> None:
    if span[0] < asset.first or span[1] > asset.end:
        raise BlockOutsideAsset(
            f"The asset lives from {format_period(asset.first)} to {format_period(asset.end)}.",
            [FieldError("/start" if span[0] < asset.first else "/end", "Expected a time within the asset's life.")],
        )
    if charge_kw == 0 and discharge_kw == 0:
        raise BlockOutsideAsset(
            "A block takes some power in one direction at least.", [FieldError("/ratedDischargePower", "is 0")]
        )


class NoWholesalePower(Problem, status=409, title="The wholesale blocks do not hold this power"):
    """A block can only be carved out of power that WHOLESALE blocks hold over its whole window.

    The detail names the first period in which they hold too little, and how much. Give back other blocks first, or ask
    for less.
    """


class NothingToJoin(Problem, status=409, title="No wholesale block can take this one back"):
    """A WHOLESALE block can be given back only where another WHOLESALE block can take its power and its schedule.

    That is one that runs in parallel over the whole window, or one that touches it on the same lane with equal power.
    The last wholesale block of a window stays.
    """


@dataclass(frozen=True, slots=True)
class LaneReduction:
    """The rated power of a lane's block in the periods [first, end) after a carving, and the power it lost."""

    lane: int
    first: int
    end: int
    charge_kw: float
    discharge_kw: float
    taken_charge_kw: float = 0.0
    taken_discharge_kw: float = 0.0


@dataclass(frozen=True, slots=True)
class Carving:
    """The blocks after a carving, and the lanes whose schedules must fit into less, or move to the new block."""

    blocks: tuple[Block, ...]
    block: Block
    reductions: tuple[LaneReduction, ...]


@dataclass(frozen=True, slots=True)
class LaneMove:
    """The periods [first, end) of a lane's schedule are added to that of another lane."""

    source: int
    target: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class BlockRemoval:
    blocks: tuple[Block, ...]
    moves: tuple[LaneMove, ...]


def first_overcommitment(blocks: Iterable[Block], charge_kw: float, discharge_kw: float) -> int | None:
    """The first period in which the blocks' powers sum to more than the asset's, if there is one."""
    blocks = list(blocks)
    for first in sorted({block.first for block in blocks}):
        parallel = [block for block in blocks if block.first <= first < block.end]
        if sum(block.charge_kw for block in parallel) > charge_kw * (1 + 1e-12) + POWER_TOLERANCE_KW:
            return first
        if sum(block.discharge_kw for block in parallel) > discharge_kw * (1 + 1e-12) + POWER_TOLERANCE_KW:
            return first
    return None


def carve(
    blocks: Sequence[Block],
    first: int,
    end: int,
    market: Market,
    charge_kw: float,
    discharge_kw: float,
    minutes: float = 0.0,
) -> Carving:
    """Cut a new block out of the wholesale blocks that cover its periods, lowest lane first.

    Each of them keeps what is left: the earliest piece keeps its id, later pieces get new ones, and pieces without
    power disappear. `minutes`: for how long at full power it keeps energy in the store.
    """
    hosts = sorted(
        (block for block in blocks if block.market is Market.WHOLESALE and block.overlaps(first, end)),
        key=lambda block: (block.lane, block.first),
    )
    taken: dict[BlockID, list[LaneReduction]] = {host.id: [] for host in hosts}
    cuts = sorted({first, end, *(edge for host in hosts for edge in (host.first, host.end) if first < edge < end)})
    for cut, cut_end in pairwise(cuts):
        missing_charge_kw, missing_discharge_kw = charge_kw, discharge_kw
        for host in hosts:
            if not host.overlaps(cut, cut_end):
                continue
            charge = min(host.charge_kw, missing_charge_kw)
            discharge = min(host.discharge_kw, missing_discharge_kw)
            missing_charge_kw -= charge
            missing_discharge_kw -= discharge
            taken[host.id].append(
                LaneReduction(
                    host.lane,
                    cut,
                    cut_end,
                    _round_rest(host.charge_kw - charge),
                    _round_rest(host.discharge_kw - discharge),
                    charge,
                    discharge,
                )
            )
        if missing_charge_kw > POWER_TOLERANCE_KW or missing_discharge_kw > POWER_TOLERANCE_KW:
            held = [host for host in hosts if host.overlaps(cut, cut_end)]
            raise NoWholesalePower(
                say(
                    "From {} on, WHOLESALE blocks hold {} of charging and {} of discharging power, and {} and {} are "
                    "asked for.",
                    format_instant(period_start(cut)),
                    kw(sum(host.charge_kw for host in held)),
                    kw(sum(host.discharge_kw for host in held)),
                    kw(charge_kw),
                    kw(discharge_kw),
                )
            )
    after = [block for block in blocks if block.id not in taken]
    for host in hosts:
        after += _cut_pieces(host, taken[host.id])
    block = Block(BlockID(uuid7()), _free_lane(after, first, end), first, end, market, charge_kw, discharge_kw, minutes)
    reductions = tuple(reduction for host in hosts for reduction in taken[host.id])
    return Carving((*after, block), block, reductions)


def remove_block(blocks: Sequence[Block], block: Block) -> BlockRemoval:
    """Return a block's power to the wholesale blocks beside it, joining pieces that a carving had cut apart."""
    others = [other for other in blocks if other.id != block.id]
    hosts = sorted(
        (o for o in others if o.market is Market.WHOLESALE and o.overlaps(block.first, block.end)),
        key=lambda other: (other.lane, other.first),
    )
    edges = {block.first, block.end, *(e for h in hosts for e in (h.first, h.end) if block.first < e < block.end)}
    cuts = sorted(edges)
    spans = list(pairwise(cuts))
    host_of = {span: next((host for host in hosts if host.overlaps(*span)), None) for span in spans}
    if block.market is Market.WHOLESALE and not all(host_of.values()):
        return _join_neighbour(others, block)
    after = [other for other in others if other not in host_of.values()]
    moves = []
    for host in dict.fromkeys(host for host in host_of.values() if host is not None):
        gained = [span for span in spans if host_of[span] is host]
        after += _cut_pieces(
            host,
            [
                LaneReduction(
                    host.lane, first, end, host.charge_kw + block.charge_kw, host.discharge_kw + block.discharge_kw
                )
                for first, end in gained
            ],
        )
        moves += [LaneMove(block.lane, host.lane, first, end) for first, end in gained]
    for first, end in (span for span in spans if host_of[span] is None):
        after.append(
            replace(block, id=BlockID(uuid7()), first=first, end=end, market=Market.WHOLESALE, reserve_minutes=0.0)
        )
    return BlockRemoval(tuple(_join_blocks(after, {block.first, *cuts, block.end})), tuple(moves))


def _join_neighbour(others: Sequence[Block], block: Block) -> BlockRemoval:
    for other in others:
        if not _are_alike(other, block):
            continue
        if other.end == block.first or block.end == other.first:
            joined = replace(other, first=min(other.first, block.first), end=max(other.end, block.end))
            return BlockRemoval((*(o for o in others if o.id != other.id), joined), ())
    raise NothingToJoin("No other WHOLESALE block runs beside this one or continues it with equal power.")


def _are_alike(one: Block, other: Block) -> bool:
    return (
        one.lane == other.lane
        and one.market is other.market
        and abs(one.charge_kw - other.charge_kw) <= POWER_TOLERANCE_KW
        and abs(one.discharge_kw - other.discharge_kw) <= POWER_TOLERANCE_KW
    )


def _round_rest(power_kw: float) -> float:
    return power_kw if power_kw > POWER_TOLERANCE_KW else 0.0


def _cut_pieces(host: Block, changed: Sequence[LaneReduction]) -> list[Block]:
    """The host cut where its power changes; neighbours of equal power stay one piece."""
    steps: list[tuple[int, int, float, float]] = []
    cursor = host.first
    for change in sorted(changed, key=lambda change: change.first):
        if cursor < change.first:
            steps.append((cursor, change.first, host.charge_kw, host.discharge_kw))
        steps.append((change.first, change.end, change.charge_kw, change.discharge_kw))
        cursor = change.end
    if cursor < host.end:
        steps.append((cursor, host.end, host.charge_kw, host.discharge_kw))
    pieces: list[Block] = []
    for first, end, charge_kw, discharge_kw in steps:
        last = pieces[-1] if pieces else None
        if last and last.end == first and (last.charge_kw, last.discharge_kw) == (charge_kw, discharge_kw):
            pieces[-1] = replace(last, end=end)
        elif charge_kw or discharge_kw:
            id = BlockID(uuid7()) if pieces else host.id
            pieces.append(replace(host, id=id, first=first, end=end, charge_kw=charge_kw, discharge_kw=discharge_kw))
    return pieces


def _join_blocks(blocks: Iterable[Block], edges: set[int]) -> list[Block]:
    """Wholesale blocks that meet at one of the edges, on one lane and with equal power, become one."""
    joined: list[Block] = []
    for block in sorted(blocks, key=lambda block: (block.lane, block.first)):
        last = joined[-1] if joined else None
        if (
            last is not None
            and block.first in edges
            and last.end == block.first
            and block.market is Market.WHOLESALE
            and _are_alike(last, block)
        ):
            joined[-1] = replace(last, end=block.end)
        else:
            joined.append(block)
    return joined


def _free_lane(blocks: Sequence[Block], first: int, end: int) -> int:
    taken = {block.lane for block in blocks if block.overlaps(first, end)}
    return next(lane for lane in range(len(taken) + 1) if lane not in taken)
