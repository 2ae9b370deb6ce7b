"""Running generated C: compilers, this computer, emulated boards, and the cycles by manuals."""
