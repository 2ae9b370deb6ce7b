"""Kernel cases: every kernel called in process on drawn operators, between guard pages, against NumPy.

Why: tests of whole models try what their authors thought of. Here types, shapes, scales, cores and
forms are drawn together, thousands of calls a second, and what a kernel reads or writes beyond its
buffers is seen.
`python -m tests.kernels.cases` prints the table.
"""
