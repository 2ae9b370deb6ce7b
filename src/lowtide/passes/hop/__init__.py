"""A network whose window slides: the same network, where rows that stay the same are kept.

graph --> turning.py (columns as rows, where they are time) --> flows.py (operators along time)
      --> cones.py (which rows are kept, which made) --> slide.py (a graph with variables, which takes
      the new rows alone, or reads them in a ring of the caller's), with totals.py (sums over all rows)
"""

from lowtide.passes.hop.slide import check_slides, slide
from lowtide.passes.hop.turning import turned

__all__ = ["check_slides", "slide", "turned"]
