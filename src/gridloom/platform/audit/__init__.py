"""The audit log: who did what to which resource, when, from where; appended to and never changed."""
