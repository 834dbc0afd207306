"""The client works without the server's packages."""

import subprocess
import sys

SERVER_PACKAGES = {"argon2", "asyncpg", "granian", "jwt", "lxml", "numpy", "orjson", "pyarrow", "starlette"}


class TestClient:
    def test_loads_none_of_the_servers_packages(self):
        program = "import sys, gridloom.cli, gridloom_client.commands; print(*sys.modules, sep='\\n')"
        loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert not SERVER_PACKAGES & set(loaded.stdout.splitlines())
