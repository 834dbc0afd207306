"""Descriptions and examples of all fields and parameters, read from `field_descriptions.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from gridloom.platform.http.openapi.vocabulary import Vocabulary


@cache
def field_descriptions() -> Vocabulary:
    return Vocabulary.of(tomllib.loads(files("gridloom").joinpath("field_descriptions.toml").read_text("utf-8")))
