"""What every worker of the service has beside its requests: background work, health, figures and its heap."""
