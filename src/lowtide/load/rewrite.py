from lowtide.tflite.rewrite import permute_operators, set_metadata
