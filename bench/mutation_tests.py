"""`make mutants`: plant faults, one at a time, in a copy of the sources, and see whether the tests notice.

Each fault is a plausible slip in a rule that matters, with the tests that ought to catch it. What no test catches is a
rule that nobody holds. A test of the usual suite sees that every fault still finds its line.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 900


@dataclass(frozen=True, slots=True)
class Mutant:
    """`old` stands once in the file; `new` takes its place; `tests` should fail then."""

    file: str
    old: str
    new: str
    tests: str


MUTANTS = (
    # What once slipped through.
    Mutant("auctions/routes.py", "seen.now not in seen.auction.open or ", "", "auctions/test_races.py"),
    Mutant(
        "auctions/store.py",
        "when exists (select 1 from auction_bid own",
        "when not exists (select 1 from auction_bid own",
        "auctions/test_auctions.py",
    ),
    Mutant("ancillary/rules.py", "if now < closure:", "if now <= closure:", "ancillary/test_gates.py"),
    Mutant("settlements/recording.py", "min(change.start for", "max(change.start for", "settlements/test_routes.py"),
    Mutant(
        "monitoring/query/summaries.py",
        "assemble, hot, cold, set(wanted_ids))",
        "assemble, (), cold, set(wanted_ids))",
        "monitoring/test_storage.py",
    ),
    Mutant("edge/shares.py", "lease.left += current.left", "pass", "edge/test_rate_limiter.py"),
    Mutant(
        "virtual_assets/asset_lookup.py",
        "version=version, periods=periods)",
        "version=version, periods=0)",
        "virtual_assets/test_audit.py",
    ),
    # The calendar and the smallest rules.
    Mutant("kernel/market_time.py", "    while period < window.end:", "    while period <= window.end:", "kernel"),
    Mutant(
        "kernel/market_time.py",
        "while _wall_clock(day, 0) < window.end:",
        "while _wall_clock(day, 0) <= window.end:",
        "kernel",
    ),
    Mutant(
        "kernel/window.py",
        "return self.start <= instant < self.end",
        "return self.start <= instant <= self.end",
        "kernel",
    ),
    Mutant(
        "kernel/window.py",
        "self.start < other.end and other.start < self.end",
        "self.start <= other.end and other.start <= self.end",
        "kernel",
    ),
    Mutant("kernel/money.py", "if value > euro.high:", "if value >= euro.high:", "kernel"),
    # Auctions.
    Mutant("auctions/rules.py", "(-bid.price_eur, bid.position)", "(-bid.price_eur, -bid.position)", "auctions"),
    Mutant("auctions/rules.py", "bid.price_eur >= hurdle_price_eur]", "bid.price_eur > hurdle_price_eur]", "auctions"),
    Mutant("auctions/bid_batching.py", "or key in keys:", "or False:", "auctions/test_keyed_bids.py"),
    Mutant(
        "database/migrations/0030_auctions.sql",
        "when placed_at >= closes_at or",
        "when placed_at > closes_at + interval '1 minute' or",
        "auctions",
    ),
    # Batteries and what they promise.
    Mutant(
        "capacity/loss_order.py",
        "np.minimum(missing - own, book.waiting)",
        "np.minimum(missing, book.waiting)",
        "capacity",
    ),
    Mutant(
        "capacity/loss_order.py",
        "where=firm > book.available + TOLERANCE",
        "where=firm > book.rated + TOLERANCE",
        "capacity",
    ),
    Mutant("unavailability/rules.py", "if missing > rated", "if missing > 2 * rated", "unavailability"),
    Mutant("ancillary/products.py", "or self.first <= period_count(day)", "or self.first <= 100", "ancillary"),
    # Virtual batteries.
    Mutant(
        "virtual_assets/energy/trajectory.py",
        "QUARTER_HOUR_H * (1 / efficiency.discharge)",
        "QUARTER_HOUR_H * efficiency.discharge",
        "virtual_assets/test_trajectory.py",
    ),
    Mutant(
        "virtual_assets/state_of_energy/operational.py",
        "* c.terms.efficiency.discharge / QUARTER_HOUR_H",
        "/ QUARTER_HOUR_H",
        "virtual_assets",
    ),
    # Delivery.
    Mutant(
        "delivery/planning/netting.py",
        "np.where(power_kw > 0, exported, imported)",
        "np.where(power_kw > 0, imported, exported)",
        "delivery",
    ),
    Mutant("delivery/planning/netting.py", "-= units.sum(axis=0)", "-= 0", "delivery"),
    # Money.
    Mutant(
        "revenue/formulas.py",
        "            result = result - sums[name]",
        "            result = result + sums[name]",
        "revenue",
    ),
    # Who may do and see what.
    Mutant("events/rules.py", "sequenced.permission not in permissions", "False", "events"),
    Mutant("events/rules.py", 'subject.startswith(f"{one}/")', "subject.startswith(one)", "events"),
    Mutant(
        "identity/tokens.py",
        "if not 0 < expires_at - issued_at <= ",
        "if not 0 < expires_at - issued_at <= 1000 * ",
        "identity",
    ),
    Mutant(
        "identity/login/password_rules.py",
        "if len(password) < SHORTEST:",
        "if len(password) < SHORTEST - 1:",
        "identity",
    ),
    Mutant("identity/token_verification/verification.py", "if found.expires_at <= now:", "if False:", "identity"),
    # What comes later, and again.
    Mutant("webhooks/rules.py", "if now >= give_up_at:", "if now > give_up_at:", "webhooks"),
    Mutant("webhooks/rules.py", "return 200 <= status < 300", "return 200 <= status < 400", "webhooks"),
    Mutant("jobs/rules.py", "min(failures - 1, 30)", "min(failures, 30)", "jobs"),
    Mutant("edge/idempotency.py", "if bytes(fingerprint) != self._fingerprint:", "if False:", "edge"),
    Mutant(
        "edge/idempotency.py",
        "case when pg_try_advisory_xact_lock({}) then",
        "case when {}::bigint is not null then",
        "edge/test_single_statement.py",
    ),
    Mutant("edge/run.py", "single_statement = False  #", "raise  #", "edge/test_single_statement.py"),
    Mutant("edge/request.py", "change.committed()", "pass", "edge/test_single_statement.py"),
    Mutant("edge/answer/negotiation.py", "if quality > best_quality:", "if quality >= best_quality:", "edge"),
    Mutant(
        "edge/decode/validation_errors.py",
        "if field.required and name not in value and not self._texts_only:",
        "if False:",
        "edge/test_validation_errors.py",
    ),
    Mutant(
        "edge/decode/parameters.py",
        'errors.extend(FieldError(f"query:{name}", "is missing")',
        'errors.extend(FieldError(f"query:{name}", "is missing") if False else FieldError("query:", "")',
        "edge/test_validation_errors.py",
    ),
)


def plant(mutant: Mutant, copy: Path) -> None:
    path = copy / "src" / "gridloom" / mutant.file
    text = path.read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, f"{mutant.file} has {mutant.old!r} {text.count(mutant.old)} times"
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


def fails(tests: str, mutant: Mutant | None = None, lives_s: int = 0) -> bool:
    """Whether one of the tests fails in a copy of the project, with the fault in it or as it is; with `lives_s`,
    whether that many seconds of simulated lives find it."""
    judged = ["pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/{tests}"]
    if lives_s:
        judged = ["tests.simulation", "--seconds", str(lives_s), "--no-shrink"]
    with tempfile.TemporaryDirectory(prefix="gridloom-mutant-") as folder:
        copy = Path(folder)
        for part in ("src", "tests", "docs", "bench"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("pyproject.toml", "openapi.json", "README.md"):
            shutil.copy(ROOT / file, copy / file)
        if mutant is not None:
            plant(mutant, copy)
        try:
            done = subprocess.run(
                [sys.executable, "-m", *judged],
                cwd=copy,
                env={**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        assert done.returncode in (0, 1, 2), f"tests/{tests} could not be run"
        return done.returncode != 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mutation_tests", description=__doc__)
    parser.add_argument("--only", default="", help="only faults in files whose name contains this")
    parser.add_argument("--from", dest="first", type=int, default=1, help="begin with the fault of this number")
    parser.add_argument("--lives", type=int, default=0, metavar="SECONDS", help="by simulated lives instead of tests")
    given = parser.parse_args()
    chosen = [
        (number, mutant)
        for number, mutant in enumerate(MUTANTS, start=1)
        if given.only in mutant.file and number >= given.first
    ]
    missed = 0
    sound: dict[str, bool] = {}
    for number, mutant in chosen:
        by = "simulation" if given.lives else mutant.tests
        if by not in sound:
            sound[by] = not fails(by, lives_s=given.lives)
        if not sound[by]:
            print(f"{number:3} UNKNOWN  {mutant.file}: tests/{by} fails without it as well", flush=True)
            missed += 1
            continue
        caught = fails(by, mutant, given.lives)
        missed += not caught
        print(
            f"{number:3} {'caught' if caught else 'MISSED'}  {mutant.file}: {mutant.old!r} → {mutant.new!r}", flush=True
        )
    print(f"{len(chosen) - missed} of {len(chosen)} faults were caught.")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
