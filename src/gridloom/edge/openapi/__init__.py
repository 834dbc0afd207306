"""OpenAPI 3.1.0: what is declared, described in the words of the vocabulary."""

from gridloom.edge.openapi.document import INTERFACE_VERSION, describe
from gridloom.edge.openapi.parameters import share_parameters
from gridloom.edge.openapi.responses import possible_problems
from gridloom.edge.openapi.schemas import answered
from gridloom.edge.openapi.vocabulary import Term, Vocabulary
from gridloom.edge.openapi.wording import drop_unused, put_into_words

__all__ = [
    "INTERFACE_VERSION",
    "Term",
    "Vocabulary",
    "answered",
    "describe",
    "drop_unused",
    "possible_problems",
    "put_into_words",
    "share_parameters",
]
