"""`gridloom serve`: the service as processes that keep each other alive."""
