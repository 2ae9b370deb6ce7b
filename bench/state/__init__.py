"""Networks with state: their RAM, their instructions, and every network of others, verified."""
