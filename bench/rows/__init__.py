"""Programs by rows: their RAM, MACs, instructions, flash, and the time that planning takes."""
