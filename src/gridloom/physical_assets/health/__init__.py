"""How an asset is doing, from its telemetry, its availability and what was promised."""
