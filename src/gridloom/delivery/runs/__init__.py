"""Looks at gates and the runs that follow from them."""
