"""What became of a mutant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bench.mutants.mutant import Mutant

Status = Literal["killed", "equivalent", "survived"]


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutant that was tried. `why` is what found it, why it is equivalent, or what did not find it."""

    part: str
    mutant: Mutant
    status: Status
    why: str
    is_soak: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """As JSON says it."""
        return {
            "name": self.mutant.name,
            "line": self.mutant.before,
            "mutant": self.mutant.after,
            "status": self.status,
            "why": self.why,
            "soak": self.is_soak,
        }
