"""What each command does, from a loaded model to a result that is reported."""
