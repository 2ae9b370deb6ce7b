"""Real cycles: lowtide's programs on the RTL of a RISC-V core."""
