"""What tests of signing in at a terminal share with those of the commands."""

from tests.client.conftest import command_server

__all__ = ["command_server"]
