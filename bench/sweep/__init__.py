"""Thousands of networks: orders, estimates and sweeps, as an architecture search asks for them."""
