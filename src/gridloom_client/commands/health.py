"""`gridloom health`: whether the service can do its work."""

from __future__ import annotations

from gridloom_client.commands.terminal.options import USUAL, Options, connect_without_sign_in
from gridloom_client.commands.terminal.rendering import as_record, print_facts, print_json


def health(*, options: Options = USUAL) -> None:
    """Say whether the service can do its work; needs no sign-in, and ends with 1 where it cannot.

    For example:

        gridloom health
        gridloom health --url https://gridloom.example -o json
    """
    with connect_without_sign_in(options) as client:
        ready = as_record(client.platform.ready())
    if options.form == "table":
        print_facts("The service", {name: value for name, value in ready.items() if not isinstance(value, dict | list)})
    else:
        print_json(ready)
