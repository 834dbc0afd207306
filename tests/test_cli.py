"""The command `gridloom`."""

import subprocess
import sys

WITHOUT_THE_SERVER = """
import sys
for name in ("asyncpg", "granian", "starlette", "structlog", "numpy", "pyarrow", "orjson"):
    sys.modules[name] = None
from gridloom.cli import main
sys.argv = ["gridloom", *sys.argv[1:]]
main()
"""


def gridloom_without_the_server(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", WITHOUT_THE_SERVER, *arguments], capture_output=True, text=True)


class TestWithoutTheServer:
    def test_the_servers_commands_say_how_to_install_it(self) -> None:
        for command in ("serve", "migrate", "openapi"):
            done = gridloom_without_the_server(command)
            assert done.returncode == 1
            assert "pip install 'gridloom[server]'" in done.stderr
            assert "Traceback" not in done.stderr

    def test_the_users_commands_are_there(self) -> None:
        done = gridloom_without_the_server("--help")
        assert done.returncode == 0
        assert "login" in done.stdout
