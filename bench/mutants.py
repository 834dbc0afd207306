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
class Fault:
    """`old` stands once in the file; `new` takes its place; `tests` should fail then."""

    file: str
    old: str
    new: str
    tests: str


FAULTS = (
    # What once slipped through.
    Fault("auctions/routes.py", "seen.now not in seen.auction.open or ", "", "auctions/test_races.py"),
    Fault(
        "auctions/store.py",
        "when exists (select 1 from auction_bid own",
        "when not exists (select 1 from auction_bid own",
        "auctions/test_auctions.py",
    ),
    Fault("ancillary/rules.py", "if now < closure:", "if now <= closure:", "ancillary/test_gates.py"),
    Fault("settlements/recording.py", "min(change.start for", "max(change.start for", "settlements/test_routes.py"),
    Fault(
        "monitoring/reading/summaries.py",
        "assemble, hot, cold, set(wanted_ids))",
        "assemble, (), cold, set(wanted_ids))",
        "monitoring/test_storage.py",
    ),
    Fault("edge/guarding/rate_limit.py", "lease.left += current.left", "pass", "edge/test_rate_limit.py"),
    Fault(
        "virtual_assets/asset_lookup.py",
        "version=version, periods=periods)",
        "version=version, periods=0)",
        "virtual_assets/test_audit.py",
    ),
    # The calendar and the smallest rules.
    Fault("kernel/market_time.py", "    while period < window.end:", "    while period <= window.end:", "kernel"),
    Fault(
        "kernel/market_time.py",
        "while _wall_clock(day, 0) < window.end:",
        "while _wall_clock(day, 0) <= window.end:",
        "kernel",
    ),
    Fault(
        "kernel/window.py",
        "return self.start <= instant < self.end",
        "return self.start <= instant <= self.end",
        "kernel",
    ),
    Fault(
        "kernel/window.py",
        "self.start < other.end and other.start < self.end",
        "self.start <= other.end and other.start <= self.end",
        "kernel",
    ),
    Fault("kernel/money.py", "if value > euro.high:", "if value >= euro.high:", "kernel"),
    # Auctions.
    Fault("auctions/rules.py", "(-bid.price_eur, bid.position)", "(-bid.price_eur, -bid.position)", "auctions"),
    Fault("auctions/rules.py", "bid.price_eur >= hurdle_price_eur]", "bid.price_eur > hurdle_price_eur]", "auctions"),
    Fault("auctions/bid_batching.py", "or key in keys:", "or False:", "auctions/test_keyed_bids.py"),
    Fault(
        "database/migrations/0030_auctions.sql",
        "when placed_at >= closes_at or",
        "when placed_at > closes_at + interval '1 minute' or",
        "auctions",
    ),
    # Batteries and what they promise.
    Fault(
        "capacity/losses.py", "np.minimum(missing - own, book.waiting)", "np.minimum(missing, book.waiting)", "capacity"
    ),
    Fault(
        "capacity/losses.py",
        "where=firm > book.available + TOLERANCE",
        "where=firm > book.rated + TOLERANCE",
        "capacity",
    ),
    Fault("unavailability/rules.py", "if missing > rated", "if missing > 2 * rated", "unavailability"),
    Fault("ancillary/products.py", "or self.first <= period_count(day)", "or self.first <= 100", "ancillary"),
    # Virtual batteries.
    Fault(
        "virtual_assets/schedule/projection/trajectory.py",
        "QUARTER_HOUR_H * (1 / efficiency.discharge)",
        "QUARTER_HOUR_H * efficiency.discharge",
        "virtual_assets/test_trajectory.py",
    ),
    Fault(
        "virtual_assets/energy/operational.py",
        "* c.terms.efficiency.discharge / QUARTER_HOUR_H",
        "/ QUARTER_HOUR_H",
        "virtual_assets",
    ),
    # Delivery.
    Fault(
        "delivery/planning/netting.py",
        "np.where(power_kw > 0, exported, imported)",
        "np.where(power_kw > 0, imported, exported)",
        "delivery",
    ),
    Fault("delivery/planning/netting.py", "-= parts.sum(axis=0)", "-= 0", "delivery"),
    # Money.
    Fault(
        "revenue/formulas.py",
        "            result = result - sums[name]",
        "            result = result + sums[name]",
        "revenue",
    ),
    # Who may do and see what.
    Fault("events/rules.py", "sequenced.permission not in permissions", "False", "events"),
    Fault("events/rules.py", 'subject.startswith(f"{one}/")', "subject.startswith(one)", "events"),
    Fault(
        "identity/tokens.py",
        "if not 0 < expires_at - issued_at <= ",
        "if not 0 < expires_at - issued_at <= 1000 * ",
        "identity",
    ),
    Fault(
        "identity/signing_in/password_rules.py",
        "if len(password) < SHORTEST:",
        "if len(password) < SHORTEST - 1:",
        "identity",
    ),
    Fault("identity/verifying/caller_cache.py", "if found.expires_at <= now:", "if False:", "identity"),
    # What comes later, and again.
    Fault("webhooks/rules.py", "if now >= give_up_at:", "if now > give_up_at:", "webhooks"),
    Fault("webhooks/rules.py", "return 200 <= status < 300", "return 200 <= status < 400", "webhooks"),
    Fault("jobs/rules.py", "min(failures - 1, 30)", "min(failures, 30)", "jobs"),
    Fault("edge/idempotency.py", "if bytes(fingerprint) != self._fingerprint:", "if False:", "edge"),
    Fault(
        "edge/idempotency.py",
        "case when pg_try_advisory_xact_lock({}) then",
        "case when {}::bigint is not null then",
        "edge/test_at_once.py",
    ),
    Fault("edge/changes.py", "at_once = False  #", "raise  #", "edge/test_at_once.py"),
    Fault("edge/call.py", "change.committed()", "pass", "edge/test_at_once.py"),
    Fault("edge/answering/negotiation.py", "if quality > best_quality:", "if quality >= best_quality:", "edge"),
    Fault(
        "edge/fault_finding.py",
        "if field.required and name not in value:",
        "if False:",
        "edge/test_fault_finding.py",
    ),
    Fault(
        "edge/wire.py",
        'faults.extend(FieldError(f"query:{name}", "is missing")',
        'faults.extend(FieldError(f"query:{name}", "is missing") if False else FieldError("query:", "")',
        "edge/test_fault_finding.py",
    ),
)


def plant(fault: Fault, copy: Path) -> None:
    path = copy / "src" / "gridloom" / fault.file
    text = path.read_text(encoding="utf-8")
    assert text.count(fault.old) == 1, f"{fault.file} has {fault.old!r} {text.count(fault.old)} times"
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")


def fails(tests: str, fault: Fault | None = None) -> bool:
    """Whether one of the tests fails in a copy of the project, with the fault in it or as it is."""
    with tempfile.TemporaryDirectory(prefix="gridloom-mutant-") as folder:
        copy = Path(folder)
        for part in ("src", "tests", "docs", "bench"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("pyproject.toml", "openapi.json", "README.md"):
            shutil.copy(ROOT / file, copy / file)
        if fault is not None:
            plant(fault, copy)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/{tests}"],
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
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="only faults in files whose name contains this")
    parser.add_argument("--from", dest="first", type=int, default=1, help="begin with the fault of this number")
    given = parser.parse_args()
    chosen = [
        (number, fault)
        for number, fault in enumerate(FAULTS, start=1)
        if given.only in fault.file and number >= given.first
    ]
    missed = 0
    sound: dict[str, bool] = {}
    for number, fault in chosen:
        if fault.tests not in sound:
            sound[fault.tests] = not fails(fault.tests)
        if not sound[fault.tests]:
            print(f"{number:3} UNKNOWN  {fault.file}: tests/{fault.tests} fails without it as well", flush=True)
            missed += 1
            continue
        caught = fails(fault.tests, fault)
        missed += not caught
        print(f"{number:3} {'caught' if caught else 'MISSED'}  {fault.file}: {fault.old!r} → {fault.new!r}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults were caught.")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
