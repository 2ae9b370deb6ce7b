"""What operators cost on a grid of shapes, neighbour against neighbour, and the prices fitted on it."""
