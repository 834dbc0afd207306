"""Backing of virtual assets: the promised capacity of batteries, and its available fraction."""
