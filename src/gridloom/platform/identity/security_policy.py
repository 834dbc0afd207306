"""An organisation's security policy: networks, age of keys, second factor."""

from __future__ import annotations

from gridloom.kernel.networks import is_within, parse_network
from gridloom.kernel.problem import BadRequest, FieldError, Unprocessable


class WouldLockYouOut(Unprocessable, title="The change would lock you out"):
    """The networks do not contain the address from which this request comes, so the next one would be refused.

    Send the request from inside, or add your own network.
    """


def parse_networks(texts: list[str], pointer: str) -> list[str]:
    """The networks in their one spelling, each once; a 400 that points at every one that is none."""
    faults, networks = [], []
    for index, text in enumerate(texts):
        try:
            networks.append(str(parse_network(text)))
        except ValueError as error:
            faults.append(FieldError(f"{pointer}/{index}", f"is not a network in CIDR notation: {error}"))
    if faults:
        raise BadRequest(f"{faults[0].pointer}: {faults[0].detail}", errors=faults[:50])
    return list(dict.fromkeys(networks))


def reject_lockout(networks: list[str], address: str) -> None:
    if networks and not is_within(address, map(parse_network, networks)):
        error = f"do not contain your own address {address}"
        raise WouldLockYouOut.at("/allowedNetworks", f"The networks {error}.", error)
