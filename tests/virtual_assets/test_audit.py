"""What the audit log keeps of a schedule that was put."""

from __future__ import annotations

from typing import Any


class TestTheAuditLog:
    async def test_says_which_version_and_how_many_periods_were_put(self, make_battery: Any):
        battery = await make_battery()
        for powers in ([10.0, 20.0, 30.0], [0.0]):
            assert (await battery.put(powers)).status_code == 200
        entries = (await battery.organisation.admin.get("/audit-log", params={"resource": battery.block_url})).json()
        assert [(entry["action"], entry["details"]) for entry in entries] == [
            ("scheduleBlock", {"version": 3, "periods": 1}),
            ("scheduleBlock", {"version": 2, "periods": 3}),
        ]
