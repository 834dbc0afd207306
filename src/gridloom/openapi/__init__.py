"""OpenAPI 3.1.0: what is declared, described in the words of the vocabulary."""

from gridloom.openapi.document import INTERFACE_VERSION, describe
from gridloom.openapi.parameters import share_parameters
from gridloom.openapi.responses import possible_problems
from gridloom.openapi.schemas import answered
from gridloom.openapi.vocabulary import FieldDescription, Vocabulary
from gridloom.openapi.wording import add_descriptions, drop_unused

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
