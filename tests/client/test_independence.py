"""The client works without the server's packages, and its commands load none that they may not need."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.pure

SERVER_PACKAGES = {"argon2", "asyncpg", "granian", "jwt", "lxml", "numpy", "orjson", "pyarrow", "starlette"}
SLOW_PACKAGES = {"asyncio", "httpx2", "openpyxl", "plotext", "rich"}
"""Those that take a tenth of a command's time and more; commands load them where they need them."""
LOAD_EVERYTHING = """
import sys

import gridloom.commands.cli
from gridloom_client.commands import make_app

make_app()
print(*sys.modules, sep="\\n")
"""


class TestClient:
    def test_loads_none_of_the_servers_packages_and_none_that_is_slow(self):
        loaded = subprocess.run([sys.executable, "-c", LOAD_EVERYTHING], capture_output=True, text=True, check=True)
        assert not (SERVER_PACKAGES | SLOW_PACKAGES) & set(loaded.stdout.splitlines())
