"""Portfolios: virtual assets that an organisation looks at together."""
