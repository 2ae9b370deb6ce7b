"""From .tflite bytes to the graph, and back: the only importer of the file's schema."""
