"""From a scheduled and placed network to C: lowering, the step program, the bundle of files."""
