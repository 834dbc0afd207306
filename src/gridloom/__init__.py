"""The Gridloom service."""

import os

# The matrices here are small, and every process has one core to itself: threads of the linear algebra would only wait
# for each other. It has to be said before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
