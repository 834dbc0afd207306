"""`gridloom health`: whether the service can do its work."""

from __future__ import annotations

from gridloom_client.commands.terminal.ending import FAILED
from gridloom_client.commands.terminal.options import USUAL, Options, connect_without_sign_in
from gridloom_client.commands.terminal.rendering import as_record, print_data, print_facts, print_json
from gridloom_client.errors import UnavailableError
from gridloom_client.retries import NEVER


def health(*, options: Options = USUAL) -> None:
    """Say whether the service can do its work, part by part; needs no sign-in, and ends with 5 where it cannot.

    For example:

        gridloom health
        gridloom health --url https://gridloom.example -o json
    """
    with connect_without_sign_in(options) as client:
        try:
            ready = as_record(client.with_options(retries=NEVER).platform.ready())
        except UnavailableError as error:
            ready = error.members
            if "checks" not in ready:  # not the service's own answer, but that of a proxy before it
                raise
    if options.form == "json":
        print_json(ready)
    elif not print_data(ready["checks"], options):
        found = {check["name"]: f"{check['status']}: {check['detail']}" for check in ready["checks"]}
        print_facts(f"The service is {ready['status']}", found, options)
    if ready["status"] == "DOWN":
        raise SystemExit(FAILED)
