"""The stack that kernels and the interpreter take, from what the compiler made of them."""
