"""Slow flash: what programs read of it, and what plans that weigh it save."""
