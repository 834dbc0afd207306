"""The guide that is built from docs/, served below /docs/guide/."""
