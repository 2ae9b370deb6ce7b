"""The model of instructions behind `--cost instructions`."""
