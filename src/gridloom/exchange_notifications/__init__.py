"""Urgent market messages (REMIT): what is published about an asset's unavailability, version by version."""
