"""lowtide: run a quantised .tflite network in the least RAM, bit for bit the same."""
