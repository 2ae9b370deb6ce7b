"""What would do better: options that save something, and the microcontrollers a program fits."""
