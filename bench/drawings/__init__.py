"""The drawings of docs/theory.md, made of what the compiler computes."""
