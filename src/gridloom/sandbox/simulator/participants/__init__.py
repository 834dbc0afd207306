"""Who acts in the world: the operator, owners and traders, each by what they know and want."""
