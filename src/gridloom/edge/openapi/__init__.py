"""OpenAPI 3.1.0: what is declared, described in the words of the vocabulary."""

from gridloom.edge.openapi.document import INTERFACE_VERSION, describe
from gridloom.edge.openapi.parameters import share_parameters
from gridloom.edge.openapi.responses import possible_problems
from gridloom.edge.openapi.schemas import answered
from gridloom.edge.openapi.vocabulary import FieldDescription, Vocabulary
from gridloom.edge.openapi.wording import add_descriptions, drop_unused

__all__ = [
    "INTERFACE_VERSION",
    "FieldDescription",
    "Vocabulary",
    "add_descriptions",
    "answered",
    "describe",
    "drop_unused",
    "possible_problems",
    "share_parameters",
]
