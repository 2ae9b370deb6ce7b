"""Results as people and programs read them: text, JSON, CSV, plots. Nothing is computed here."""
