"""Which operators run together, how, and at what cost: the search for a plan of rows."""
