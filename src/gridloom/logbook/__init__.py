"""The logbook of an asset: what happened, written down once and never changed."""
