"""Weights that a plan stores in more than one layout: what that takes beyond the largest of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from lowtide.lower.nodes import NORMAL
from lowtide.plans.copies import copied_bytes


class _Form:
    """A node of one form, whose kernel's header and bytes of weights are given."""

    def __init__(self, header: str, size: int) -> None:
        self.header = header
        self.params = SimpleNamespace(arrays=lambda: (SimpleNamespace(bytes=size),))

    def within(self, most: int) -> _Form:
        assert most == NORMAL
        return self


def _bytes(*forms: _Form) -> int:
    """Of the pieces of one operator, each of which makes some rows of tensor 9."""
    outputs = [SimpleNamespace(outputs=(at,)) for at in range(len(forms))]
    pieces = {at: SimpleNamespace(tensor=9) for at in range(len(forms))}
    ready: Any = SimpleNamespace(
        graph=SimpleNamespace(hop=SimpleNamespace(pieces=pieces), ops=outputs),
        wide=SimpleNamespace(ops=outputs),
        lowered=[SimpleNamespace(nodes=(form,)) for form in forms],
        chosen=lambda choice: [choice.at],
        members=lambda _: None,
    )
    choices: Any = [
        SimpleNamespace(blocks=(), at=at, limits_of=lambda _: ()) for at in range(len(forms))
    ]
    return copied_bytes(ready, choices)


def test_pieces_in_one_layout_share_their_weights() -> None:
    assert _bytes(_Form("a.h", 100), _Form("a.h", 100)) == 0


def test_pieces_in_several_layouts_take_all_but_the_largest_besides() -> None:
    assert _bytes(_Form("a.h", 100), _Form("b.h", 130), _Form("a.h", 100), _Form("c.h", 7)) == 107
