"""How many tests there are."""
