"""Thousands of networks, a row for each: what is asked, where it is worked on, and what is kept."""
