"""The sandbox: a platform whose clock can be moved, and whose data can be cleared away."""
