"""Groups of physical assets."""
