"""The msf-CNN paper's cost model and table, and lowtide's plans beside it."""
