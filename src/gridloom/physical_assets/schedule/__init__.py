"""The schedule of a physical asset: what it is to do in each delivery period."""
