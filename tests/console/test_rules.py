"""Which origin is the console's own."""

import pytest

from gridloom.console.rules import AllowedOrigins

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
