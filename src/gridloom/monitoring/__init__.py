"""Telemetry of physical assets: signals over time, written fast, kept small, read in any resolution."""
