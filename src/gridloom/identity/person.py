"""What only a person may do: credentials and sessions are none of a machine's business."""

from __future__ import annotations

from gridloom.edge import Call, Caller
from gridloom.kernel.problem import Forbidden


class PersonNeeded(Forbidden):
    """An API key cannot do this: credentials are the business of a person who is logged in."""

    status = 403
    title = "Only a person can do this"


def person_of(call: Call) -> Caller:
    """The caller, if it is somebody who has logged in."""
    if call.caller.kind != "USER":
        raise PersonNeeded("An API key cannot manage credentials or sessions.")
    return call.caller
