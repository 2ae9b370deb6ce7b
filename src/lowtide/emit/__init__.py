"""From a program as tables to C: its text, its interface, the bundle of files."""
