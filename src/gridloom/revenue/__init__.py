"""Revenue reporting: data points out of settled facts, for an asset, a portfolio or a fleet."""
