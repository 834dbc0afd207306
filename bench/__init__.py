"""What is measured, and against what."""

import gridloom  # noqa: F401 — first: it says how many threads numpy may have, as it does for the service
