"""Whether signing in, which is slow on purpose, slows other requests."""

from __future__ import annotations

import time

from bench.harness import PASSWORD, USERNAME, Harness, Request, check

READS_S = 100  # paced, so that only waiting is measured
MOST = 3.0


def run(harness: Harness) -> None:
    token = harness.operator.token
    read = Request("GET", "/auth/me", token=token)
    login = Request("POST", "/auth/public/authenticate", json={"username": USERNAME, "password": PASSWORD})
    seconds = harness.options.seconds * 2
    quiet = harness.load(read, connections=8, seconds=seconds, rate_s=READS_S).result()
    check(quiet, "quiet reads")
    storm = harness.load(login, connections=32, seconds=seconds + 3)
    time.sleep(1)
    stormy = harness.load(read, connections=8, seconds=seconds, rate_s=READS_S).result()
    check(stormy, "reads in the storm")
    logins = storm.result()
    ratio = stormy.latencies_ms["p99"] / max(quiet.latencies_ms["p99"], 1e-9)
    harness.report(
        "p99 of GET /auth/me under a storm of logins",
        {
            "quiet_ms": quiet.latencies_ms,
            "storm_ms": stormy.latencies_ms,
            "ratio": round(ratio, 2),
            "logins_s": round(logins.rate_s, 1),
            "login_statuses": logins.statuses,
        },
        target=f"p99 ratio < {MOST}",
        met=ratio < MOST,
    )
