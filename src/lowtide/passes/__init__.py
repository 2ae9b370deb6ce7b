"""Graph -> Graph: what is rewritten before anything is ordered."""
