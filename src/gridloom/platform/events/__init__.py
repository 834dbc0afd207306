"""Events: recorded with the change itself, put into one order per organisation, and sent to permitted readers."""
