"""Stored figures as tables in the documents."""
