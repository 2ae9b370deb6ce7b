"""The step program as values: tables, turns and limits, every index resolved."""
