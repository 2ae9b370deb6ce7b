"""What simplification saves: programs before and after, files in TFLM, and how long it takes."""
