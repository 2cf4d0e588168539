"""Number theory: the lowest layer, which knows nothing of any protocol."""
