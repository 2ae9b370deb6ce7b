"""What of the kernels' C is reached by cases whose results are compared."""
