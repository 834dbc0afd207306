"""The client works without the server's packages."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.pure

SERVER_PACKAGES = {"argon2", "asyncpg", "granian", "jwt", "lxml", "numpy", "orjson", "pyarrow", "starlette"}
LOAD_EVERYTHING = """
import sys

import gridloom.commands.cli
from gridloom_client.commands import make_app

make_app()
print(*sys.modules, sep="\\n")
"""


class TestClient:
    def test_loads_none_of_the_servers_packages(self):
        loaded = subprocess.run([sys.executable, "-c", LOAD_EVERYTHING], capture_output=True, text=True, check=True)
        assert not SERVER_PACKAGES & set(loaded.stdout.splitlines())
