"""Gate closures, and the delivery runs that follow from them."""
