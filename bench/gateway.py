"""The field gateway: telemetry from an MQTT broker, over its disk, until the service has stored it; and a change of
dispatch from the service to a site's register.

Messages hold 20 samples as JSON. The broker (Debian's mosquitto) speaks without TLS here, and has no limit on messages
in flight, as `docs/gateway.md` says a busy broker should.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing import Process
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
import psutil
from paho.mqtt.enums import CallbackAPIVersion

from bench.events import new_asset
from bench.gateway_latency import measure_latency
from bench.harness import Harness, free_port

SIGNALS = 20
RATE = 50_000
MAX_PENDING = 1000


@contextmanager
def running_broker(directory: Path) -> Iterator[int]:
    port = free_port()
    (directory / "mosquitto.conf").write_text(
        f"user root\nlistener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nmax_inflight_messages 0\n"
    )
    process = subprocess.Popen(
        ["mosquitto", "-c", str(directory / "mosquitto.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(1)
    try:
        yield port
    finally:
        process.terminate()
        process.wait()


def publish(port: int, topic: str, start_ms: int, messages: int, per_s: float) -> None:
    """At a steady rate, one millisecond of the battery's time after the other."""
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id=f"meter-{topic}")
    client.max_inflight_messages_set(MAX_PENDING)
    client.connect("127.0.0.1", port)
    client.loop_start()
    began_s = time.monotonic()
    for number in range(messages):
        values = {f"s{signal}": number * 0.25 + signal for signal in range(SIGNALS)}
        info = client.publish(topic, json.dumps({"ts": start_ms + number, **values}), qos=1)
        wait_s = began_s + number / per_s - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
    info.wait_for_publish(60)
    client.disconnect()
    client.loop_stop()


def write_configuration(harness: Harness, directory: Path, key: str, assets: list[str], port: int) -> Path:
    signals = "".join(f's{one} = {{ topic = "TOPIC", field = "s{one}" }}\n' for one in range(SIGNALS))
    (directory / "key").write_text(key)
    batteries = "".join(
        f'[[batteries]]\nasset = "{asset}"\nname = "b{place}"\n[batteries.mqtt]\nhost = "127.0.0.1"\nport = {port}\n'
        f'tls = false\ntime_field = "ts"\ntime_unit = "ms"\n[batteries.mqtt.signals]\n'
        + signals.replace("TOPIC", f"b{place}/meter")
        for place, asset in enumerate(assets)
    )
    file = directory / "gateway.toml"
    file.write_text(
        f'[service]\nurl = "{harness.address}"\nkey_file = "{directory / "key"}"\n'
        f'[gateway]\ndirectory = "{directory / "state"}"\nbatch_samples = 100000\n{batteries}'
    )
    return file


def count_stored(admin: Any, assets: list[str]) -> int:
    total = 0
    for asset in assets:
        sums = admin.get(f"/monitoring/{asset}/datapoints/sum/detailed")["data"]
        total += sum(one["count"] for one in sums.values())
    return total


def measure(harness: Harness, seconds: float) -> dict[str, Any]:
    organisation = harness.new_organisation()
    assets = [new_asset(harness, organisation) for _ in range(2)]
    key = organisation.admin.post(
        "/auth/api-keys",
        {"name": "gateway", "permissions": ["Create:monitoring", "Read:schedules"], "physicalAssetIDs": assets},
    )["secret"]
    messages = int(seconds * RATE / SIGNALS / len(assets))
    with tempfile.TemporaryDirectory() as folder, running_broker(Path(folder)) as port:
        file = write_configuration(harness, Path(folder), key, assets, port)
        command = [sys.executable, "-c", "from gridloom.entry import main; main()", "gateway", "run", str(file)]
        gateway = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(8)
        watched = psutil.Process(gateway.pid)
        cpu_before_s, began_s = sum(watched.cpu_times()[:2]), time.monotonic()
        start_ms = int(datetime.now(UTC).timestamp() * 1000) - 3_600_000
        publishers = [
            Process(target=publish, args=(port, f"b{place}/meter", start_ms, messages, messages / seconds))
            for place in range(len(assets))
        ]
        for publisher in publishers:
            publisher.start()
        expected, stored, peak_mb = messages * SIGNALS * len(assets), 0, 0.0
        while stored < expected and time.monotonic() - began_s < 10 * seconds:
            time.sleep(0.25)
            peak_mb = max(peak_mb, watched.memory_info().rss / 1e6)
            stored = count_stored(organisation.admin, assets)
        took_s = time.monotonic() - began_s
        cpu_s = sum(watched.cpu_times()[:2]) - cpu_before_s
        for publisher in publishers:
            publisher.join()
        gateway.terminate()
        gateway.wait(30)
    return {
        "samples": stored,
        "expected": expected,
        "samples_per_s": round(stored / took_s),
        "gateway_cpu_share": round(cpu_s / took_s, 3),
        "gateway_cpu_us_per_sample": round(1e6 * cpu_s / max(stored, 1), 2),
        "gateway_peak_mb": round(peak_mb, 1),
    }


def run(harness: Harness) -> None:
    _report_throughput(harness)
    figures = measure_latency(harness, 20 if harness.options.quick else 200)
    harness.report(
        "a final dispatch is in the site's register", figures, target="p99 < 2 s", met=figures["p99_ms"] < 2000
    )


def _report_throughput(harness: Harness) -> None:
    figures = measure(harness, 2 if harness.options.quick else 10)
    is_met = figures["samples"] == figures["expected"] and figures["gateway_peak_mb"] < 150
    is_met = is_met and figures["gateway_cpu_us_per_sample"] * RATE < 1e6
    harness.report(
        "samples of MQTT messages are stored",
        figures,
        target="50,000/s for less than one core and 150 MB of the gateway",
        met=is_met,
    )
