"""What the benches share."""
