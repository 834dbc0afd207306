"""Signals between the supervisor and its workers."""

import signal

END_STREAMS = signal.SIGUSR1
"""Sent to a worker before it is ended: its server would wait for open streams for ever."""
