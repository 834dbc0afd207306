"""What one client can do to the others: `python -m bench.attacks [name …] [--quick] [--two]`.

Starts a service of its own on 127.0.0.1, carries each attack out while another organisation asks for something small on
new connections, and prints a table (attack, bound, seen); the figures go to bench/results/attacks.json. With `--two` a
second service on the same database takes part in what is counted over all replicas.
"""

from __future__ import annotations

import argparse
import http.client
import json
import resource
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

from bench import attack_markets, attack_reads, attack_shares
from bench.attack_bodies import accepted_formats, damaged_bodies, heavy_bodies
from bench.attack_harness import ASSET, Probe, Scene, Seen, log_of, print_table, write_table
from bench.harness import PASSWORD, USERNAME, Options, running

MAX_WORKER_BYTES = 350 * 10**6
LIMITS = {"GRIDLOOM_RATE_LIMIT": "60000"}
"""As they are unless set otherwise; the other benches do without."""

# --- connections -----------------------------------------------------------------------------------------------------


def hold_connections(scene: Scene, name: str, count: int, first: bytes, *, reads: bool = False) -> Seen:
    count = count // 10 if scene.is_quick else count
    held: list[socket.socket] = []
    with Probe(scene) as probe:
        for _ in range(count):
            connection = socket.socket()
            connection.settimeout(5)
            with suppress(OSError):
                connection.connect(("127.0.0.1", scene.port))
                if first:
                    connection.sendall(first)
                if reads:
                    connection.recv(4096)
                held.append(connection)
        time.sleep(7)
    open_now = sum(1 for connection in held if _is_open(connection))
    for connection in held:
        connection.close()
    return probe.judge(f"{count:,} {name} connections", 100, opened=len(held), openInTheEnd=open_now)


def _is_open(connection: socket.socket) -> bool:
    try:
        connection.setblocking(False)
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def silent_connections(scene: Scene) -> list[Seen]:
    request = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
    return [
        hold_connections(scene, "silent", 10_000, b""),
        hold_connections(scene, "half-sent", 10_000, b"GET /health/live HTTP/1.1\r\nHost: x\r\n"),
        hold_connections(scene, "idle keep-alive", 4_000, request, reads=True),
    ]


def memory_after(scene: Scene) -> list[Seen]:
    """After everything else: what the workers hold a minute later."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and scene.worker_bytes() >= MAX_WORKER_BYTES:
        time.sleep(1)
    held = scene.worker_bytes() // 10**6
    is_met = held < MAX_WORKER_BYTES // 10**6
    return [Seen("8 memory within a minute after", "< 350 MB a worker", f"{held} MB", is_met, {"MB": held})]


# --- logins, reads, damage --------------------------------------------------------------------------------------------


def parallel_logins(scene: Scene) -> list[Seen]:
    """Sixty guesses at once, one of them right: what is looked at is told, what is not tells nothing."""
    statuses: Counter[int] = Counter()

    def guess(number: int) -> None:
        body = {"username": USERNAME, "password": PASSWORD if number == 30 else f"wrong guess {number}"}
        connection = http.client.HTTPConnection("127.0.0.1", scene.port, timeout=30)
        connection.request("POST", "/auth/public/authenticate", json.dumps(body), {"Content-Type": "application/json"})
        statuses[connection.getresponse().status] += 1
        connection.close()

    with ThreadPoolExecutor(60) as pool:
        list(pool.map(guess, range(60)))
    looked_at = statuses[401]
    return [
        Seen(
            "sixty logins at once, one right",
            "at most 5 wrong ones looked at",
            f"{dict(statuses)}",
            looked_at <= 5,
            {"statuses": dict(statuses)},
        )
    ]


def wide_reads(scene: Scene) -> list[Seen]:
    """As many signals as an asset may have, and as many as one read of buckets or sums may name."""
    count = 400 if scene.is_quick else 4096
    rows = [{"signal": f"s{number}", "time": "2026-01-05T10:00:00Z", "value": 1.0} for number in range(count)]
    path = f"/monitoring/{scene.asset_id}/datapoints"
    scene.send(path, json.dumps(rows).encode(), "application/json")
    window = "start=2026-01-01T00:00:00Z&end=2026-02-01T00:00:00Z"
    names = ",".join(f"s{number}" for number in range(256))
    found = []
    for name, query in (
        (f"a read of {count:,} raw signals", f"{path}?{window}&resolution=raw"),
        ("a read of 256 signals by the day", f"{path}?{window}&resolution=daily&datapoints={names}"),
        ("a read of 256 signals by the hour", f"{path}?{window}&resolution=hourly&datapoints={names}"),
        ("the sums of 256 signals", f"{path}/sum/detailed?{window}&datapoints={names}"),
    ):
        began = time.monotonic()
        scene.attacker.get(query)
        one_s = time.monotonic() - began
        with Probe(scene) as probe, ThreadPoolExecutor(6) as pool:
            list(pool.map(scene.attacker.get, [query] * 6))
        found.append(Seen(name, "< 1 s", f"{one_s:.2f} s", one_s < 1, {"seconds": round(one_s, 3)}))
        found.append(probe.judge(f"{name}, six at once", 200))
    return found


def crowd_of_streams(scene: Scene) -> list[Seen]:
    """One organisation opens more telemetry streams than it may; another opens one."""
    held: list[http.client.HTTPConnection] = []

    def follow(token: str | None, asset_id: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", scene.port, timeout=30)
        connection.request("GET", f"/monitoring/{asset_id}/stream", headers={"Authorization": f"Bearer {token}"})
        held.append(connection)
        return connection.getresponse().status

    statuses = Counter(follow(scene.attacker.token, scene.asset_id) for _ in range(510))
    other = scene.harness.new_organisation("Follower")
    asset = other.admin.post("/physical-assets", {**ASSET, "organisationID": other.id})
    another = follow(other.admin.token, asset["id"])
    for connection in held:
        connection.close()
    seen = f"{dict(statuses)}, another organisation's {another}"
    is_met = set(statuses) == {200, 429} and another == 200
    return [Seen("510 telemetry streams of one organisation", "it is refused, others are not", seen, is_met)]


ATTACKS: dict[str, Callable[[Scene], list[Seen]]] = {
    "connections": silent_connections,
    "bodies": heavy_bodies,
    "reads": wide_reads,
    "streams": crowd_of_streams,
    "formats": accepted_formats,
    "damage": damaged_bodies,
    "slow-uploads": attack_shares.slow_uploads,
    "forecasts": attack_shares.past_forecasts,
    "optimisations": attack_shares.long_optimisations,
    "jobs": attack_shares.many_jobs,
    "event-streams": attack_shares.many_streams,
    "uploads": attack_shares.large_uploads,
    "requests": attack_shares.many_requests,
    "api-keys": attack_shares.many_keys,
    "exact-jobs": attack_shares.exact_jobs,
    "passwords": attack_reads.strong_passwords,
    "large-reads": attack_reads.large_reads,
    "unread-answers": attack_reads.unread_answers,
    "together": attack_reads.all_together,
    "orders": attack_markets.refused_orders,
    "schedules": attack_markets.portfolio_schedules,
    "plans": attack_markets.plans_and_benchmarks,
    "workbooks": attack_markets.workbooks,
    "lines": attack_markets.line_protocol,
    "invitations": attack_reads.many_invitations,
    "memory": memory_after,
    "reset": attack_reads.reset_under_load,
    "logins": parallel_logins,  # last: this address may not sign in for a while afterwards
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.attacks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ATTACKS)}")
    parser.add_argument("--two", action="store_true", help="with a second service on the same database")
    parser.add_argument("--quick", action="store_true", help="a tenth of it, and nothing is written")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    found: list[Seen] = []
    with ExitStack() as stack:
        log, options = log_of("attacks"), Options(workers=2)
        harness = stack.enter_context(running("attacks", options, has_ceiling=False, log=log, environment=LIMITS))
        more: tuple[str, ...] = ()
        if given.two:
            second = running(
                "attacks", options, has_ceiling=False, log=log, environment=LIMITS, database=harness.database_url
            )
            more = (stack.enter_context(second).address,)
        attacker, probed = harness.new_organisation("Attacker"), harness.new_organisation("Probed")
        asset = attacker.admin.post("/physical-assets", {**ASSET, "organisationID": attacker.id})
        scene = Scene(harness, attacker.admin, asset["id"], probed.admin, given.quick, more)
        for name in given.names or ATTACKS:
            began = time.monotonic()
            results = ATTACKS[name](scene)
            print_table(results)
            print(f"     {name}: {time.monotonic() - began:.0f} s", flush=True)
            found += results
    if not given.quick:
        write_table("attacks_two" if given.two else "attacks", found)
    return 0 if all(one.met for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
