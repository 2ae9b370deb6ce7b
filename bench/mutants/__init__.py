"""How many planted faults the tests find, in the kernels' C and in the Python of planning."""
