"""The two environments of the platform."""

from typing import Literal

Environment = Literal["production", "sandbox"]
