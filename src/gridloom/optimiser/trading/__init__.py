"""Plans of a delivery day's stages: positions in whole lots, reserves, and what each trade lives on; pure."""
