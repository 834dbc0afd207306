"""The commands of an operator: serve, migrate, check, invite, backup and the rest."""
