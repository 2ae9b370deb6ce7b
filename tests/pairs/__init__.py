"""Which pairs of features have met in programs whose bytes are right."""
