"""The .tflite file: read into the graph, and rewritten in place."""
