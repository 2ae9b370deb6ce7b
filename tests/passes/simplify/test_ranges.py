"""No value that the reference kernels make leaves the interval that it is said to be in.

The kernels' own tests say so of every operator (`kernels.harness.outside`); here are whole networks.
"""

from __future__ import annotations
