"""`gridloom gateway`: telemetry of a site to the platform, dispatch to the site, by MQTT and Modbus TCP."""

from __future__ import annotations

from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.rendering import print_table, show_lines

EXTRA: Final = ("paho", "pymodbus", "pyarrow")

app = CommandGroup(name="gateway", help="The field gateway of a site, by MQTT and Modbus TCP: init, check, run.")


@app.command
def init(file: Path = Path("gateway.toml")) -> None:
    """Write an example of a configuration, to be changed to what the site has.

    For example:

        gridloom gateway init
    """
    if file.exists():
        raise Misunderstood(f"{file} exists; name another file.")
    file.write_bytes(files("gridloom_gateway").joinpath("example.toml").read_bytes())
    show_lines(f"{file} is written. Change it to what your site has, then: gridloom gateway check {file}")


@app.command
def check(file: Path = Path("gateway.toml")) -> None:
    """Try everything that a configuration names, and show what arrives.

    Nothing is written to the site. It ends with 1 where something has to be mended. For example:

        gridloom gateway check gateway.toml
    """
    configuration = _load_configuration(file)
    findings = _import_part("checking").check_gateway(configuration)
    rows = [(one.battery, one.subject, one.outcome, "" if one.is_good else "!") for one in findings]
    print_table("Gateway", ["Battery", "What", "Outcome", ""], rows)
    if not all(one.is_good for one in findings):
        raise SystemExit(1)


@app.command
def run(file: Path = Path("gateway.toml")) -> None:
    """Send the site's telemetry and write its set-points, until it is stopped.

    It may be killed and started again at any moment: what was measured is on disk until the platform has it, and so is
    the dispatch of the next 36 hours. For example:

        gridloom gateway run /etc/gridloom-gateway/gateway.toml
    """
    _import_part("running").run_gateway(_load_configuration(file))


def _load_configuration(file: Path) -> Any:
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        raise Misunderstood("The gateway needs some packages more: pip install 'gridloom[gateway]'.")
    configuration = _import_part("configuration")
    try:
        return configuration.load_configuration(file)
    except configuration.ConfigurationError as error:
        raise Misunderstood(str(error)) from None


def _import_part(name: str) -> Any:
    """The gateway is a package of its own, which imports this one."""
    return import_module(f"gridloom_gateway.{name}")
