"""All SQL of the identity room, one file per table."""
