"""Parts of every worker beside its requests: background work, health, metrics and its heap."""
