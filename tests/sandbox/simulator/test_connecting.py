"""How members of the simulated world reach the service."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from gridloom.sandbox.simulator import api_session

pytestmark = pytest.mark.pure


def test_members_check_the_certificate_of_the_service_by_one_list_of_authorities(monkeypatch: pytest.MonkeyPatch):
    made: list[dict[str, Any]] = []
    monkeypatch.setattr(api_session, "AsyncClient", lambda url, **given: made.append({"url": url, **given}))
    connect = api_session.connect_to("https://127.0.0.1:1")
    connect("anna", "one")
    connect("ben", "two")
    assert [(one["url"], one["username"], one["password"]) for one in made] == [
        ("https://127.0.0.1:1", "anna", "one"),
        ("https://127.0.0.1:1", "ben", "two"),
    ]
    assert made[0]["verify"] is made[1]["verify"]
    assert made[0]["verify"].verify_mode is ssl.CERT_REQUIRED
    assert made[0]["verify"].check_hostname
