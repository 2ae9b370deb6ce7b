"""Orders of operators, for those who stay with TensorFlow Lite Micro."""
