"""`gridloom gateway`: telemetry of a site to the platform, dispatch to the site, by MQTT and Modbus TCP."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import Parameter

from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.rendering import print_table, show_lines

EXTRA: Final = ("paho", "pymodbus", "pyarrow")

app = CommandGroup(name="gateway", help="The field gateway of a site, by MQTT and Modbus TCP: init, check, run, field.")


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
    findings = _use_configuration(file, lambda found: _import_part("checking").check_gateway(found))
    rows = [(one.battery, one.subject, one.outcome if one.is_good else "!") for one in findings]
    print_table("Gateway", ["Battery", "What", "Outcome"], rows)
    for one in findings:
        if not one.is_good:
            show_lines(f"! {' '.join(filter(None, (one.battery, one.subject)))}: {one.outcome}")
    if not all(one.is_good for one in findings):
        raise SystemExit(1)


@app.command
def run(file: Path = Path("gateway.toml")) -> None:
    """Send the site's telemetry and write its set-points, until it is stopped.

    It may be killed and started again at any moment: what was measured is on disk until the platform has it, and so is
    the dispatch of the next 36 hours. For example:

        gridloom gateway run /etc/gridloom-gateway/gateway.toml
    """
    _use_configuration(file, lambda found: _import_part("running").run_gateway(found))


@app.command
def field(
    *,
    home: Annotated[Path, Parameter(env_var="GRIDLOOM_HOME")] = Path(".gridloom"),
    port: Annotated[int, Parameter(env_var="GRIDLOOM_PORT")] = 8000,
    mqtt_port: int = 11883,
    modbus_port: int = 15020,
) -> None:
    """Give eight batteries of a sandbox on this machine simulated sites, four at an MQTT broker and four with Modbus
    servers, and run a gateway between them and the service.

    The sites follow set-points, forget them after a minute, drop out and send late. It needs the broker mosquitto, and
    runs until it is stopped. `make run FIELD=1` starts it beside the service. For example:

        gridloom gateway field

    Parameters
    ----------
    home
        The sandbox's own directory, in which its operator's sign-in is kept.
    port
        The sandbox's port.
    mqtt_port
        The broker's.
    modbus_port
        Of the first of four Modbus servers.
    """
    _check_packages()
    simulated_field = _import_part("simulated_field")
    try:
        simulated_field.run_field(f"http://127.0.0.1:{port}", home, mqtt_port, modbus_port)
    except simulated_field.FieldError as error:
        raise Misunderstood(str(error)) from None


def _check_packages() -> None:
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        raise Misunderstood("The gateway needs some packages more: pip install 'gridloom[gateway]'.")


def _use_configuration(file: Path, use: Callable[[Any], Any]) -> Any:
    """A mistake may show only when it is used: a secret's file that is not there, a directory of another gateway."""
    _check_packages()
    configuration = _import_part("configuration")
    try:
        return use(configuration.load_configuration(file))
    except configuration.ConfigurationError as error:
        raise Misunderstood(str(error)) from None


def _import_part(name: str) -> Any:
    """The gateway is a package of its own, which imports this one."""
    return import_module(f"gridloom_gateway.{name}")
