"""Windows that slide: what an invocation takes that computes what the new rows change alone."""
