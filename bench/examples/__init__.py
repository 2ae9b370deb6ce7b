"""The commands that the documents show, with what they print."""
