"""How fast programs run, core by core, beside TFLM with CMSIS-NN and ST's figures."""
