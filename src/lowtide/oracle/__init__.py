"""The reference interpreters, each call in a process of its own."""
