"""The proof that a program finds in memory what its operators ask for, for all inputs: see
prove/proof.py."""
