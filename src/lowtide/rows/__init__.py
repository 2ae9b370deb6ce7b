"""Scheduling rows, not layers: which rows each step needs, stages, and when each row is live."""
