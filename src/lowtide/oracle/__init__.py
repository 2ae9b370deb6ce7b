"""The reference interpreters and the quantiser, each call in a process of its own."""
