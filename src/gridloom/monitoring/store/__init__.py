"""All SQL of monitoring."""
