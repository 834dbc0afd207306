"""Energy of virtual assets as pure functions over arrays: trajectories, projections and imbalances."""
