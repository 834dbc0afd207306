"""Plans of the stages of a day: what a virtual asset should trade at each."""
