"""Series on their way out: assembled, aggregated, rendered, streamed."""
