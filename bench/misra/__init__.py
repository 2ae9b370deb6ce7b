"""What free checkers of C find in the runtime and in bundles."""
