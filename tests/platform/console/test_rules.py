"""Which origin is the console's own."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.platform.console.application import lifespan
from gridloom.platform.console.rules import AllowedOrigins
from gridloom.platform.http.request import AppState
from gridloom.platform.identity.signing_key_cache import SigningKeyCache
from gridloom.settings import Settings

pytestmark = pytest.mark.pure

HOME = "https://gridloom.example"


@pytest.mark.parametrize(
    ("origin", "host", "in_sandbox", "in_production"),
    [
        (HOME, "gridloom.example", True, True),
        (HOME, "10.0.0.7:8000", True, True),
        ("http://10.0.0.7:8000", "10.0.0.7:8000", True, False),  # by whatever address it was reached
        ("http://10.0.0.7:8000", "10.0.0.7", False, False),
        ("ftp://10.0.0.7", "10.0.0.7", False, False),
        ("https://elsewhere.example", "gridloom.example", False, False),
        ("null", "", False, False),
    ],
)
def test_an_origin_is_ours_by_its_address(origin: str, host: str, in_sandbox: bool, in_production: bool):
    for is_sandbox, expected in ((True, in_sandbox), (False, in_production)):
        assert AllowedOrigins((HOME,), is_sandbox).is_origin(origin, host) is expected


@pytest.mark.parametrize(
    ("environment", "home"),
    [
        ("production", AllowedOrigins((HOME,), is_sandbox=False)),
        ("sandbox", AllowedOrigins(("http://127.0.0.1:8000", HOME), is_sandbox=True)),
    ],
)
async def test_home_is_where_the_settings_say(environment: Any, home: AllowedOrigins):
    edge: Any = SimpleNamespace(resources=AppState(), pool=None)
    keyring: Any = None
    edge.resources.add(SigningKeyCache(keyring, keyring))
    settings = replace(Settings(environment=environment), base_url=HOME, sandbox_base_url="http://127.0.0.1:8000")
    async with lifespan(edge, settings):
        assert edge.resources[AllowedOrigins] == home
