"""Old names, for a moment."""
