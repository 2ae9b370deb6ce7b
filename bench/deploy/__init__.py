"""Generated programs, layer by layer, beside TensorFlow Lite Micro."""
