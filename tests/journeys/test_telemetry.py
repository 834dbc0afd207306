"""Telemetry that was answered is there after everything was killed, and was counted once."""

from __future__ import annotations

import http.client
import threading
import time
from contextlib import suppress

import pytest
from tests.journeys.service import a_service

pytestmark = pytest.mark.slow

ASSET = {
    "name": "Speicher",
    "deliveryZone": "TenneT",
    "parameters": {
        "ratedChargePower": 1000,
        "ratedDischargePower": 1000,
        "energyCapacity": 2000,
        "chargeEfficiency": 0.95,
        "dischargeEfficiency": 0.95,
    },
}


class TestTelemetry:
    def test_survives_the_death_of_everything(self) -> None:
        with a_service() as service:
            service.start()
            token = service.operator_token()
            organisation_id = service.call("GET", "/auth/me", token=token)[1]["organisationID"]
            status, asset = service.call(
                "POST", "/physical-assets", {**ASSET, "organisationID": organisation_id}, token
            )
            assert status == 201, asset
            path = f"/monitoring/{asset['id']}/datapoints"
            answered: list[int] = []
            is_over = threading.Event()

            def keep_writing() -> None:
                number = 0
                while not is_over.is_set():
                    time_text = f"2026-03-29T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
                    column = {"time": [time_text], "value": [number]}
                    with suppress(OSError, http.client.HTTPException):
                        if service.call("POST", path, {"active_power": column, "frequency": column}, token)[0] == 200:
                            answered.append(number)
                    number += 1

            writer = threading.Thread(target=keep_writing)
            writer.start()
            deadline = time.monotonic() + 60  # the first points of each worker wait for what it has to import
            while len(answered) < 40 and time.monotonic() < deadline:
                time.sleep(0.1)
            service.kill_everything()
            is_over.set()
            writer.join()
            service.start()
            status, found = service.call(
                "GET", f"{path}?start=2026-03-29T00:00:00Z&end=2026-03-30T00:00:00Z", token=service.operator_token()
            )
            assert status == 200
            assert len(answered) > 20
            for name in ("active_power", "frequency"):
                stored = [int(point["value"]) for point in found["data"][name]]
                assert set(answered) <= set(stored)
                assert len(stored) == len(set(stored)) <= len(answered) + 1
