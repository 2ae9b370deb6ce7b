"""What pictures show, for the tests of each: their words, and that all of it is on the paper."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as Xml

from lowtide.report.picture import Boxes, Line, Picture, Words, letters, svg_text


def texts(picture: Picture) -> list[str]:
    """The words of a picture, which must be well-formed as SVG and come without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        root = Xml.fromstring(svg_text(picture))
    shown = [element.text or "" for element in root.iter() if element.tag.endswith("}text")]
    assert shown == [e.text for e in picture.elements if isinstance(e, Words)]
    return shown


def inside(picture: Picture) -> None:
    """Boxes, lines and, as far as letters' widths are known, words are on the paper."""
    for element in picture.elements:
        match element:
            case Boxes(places):
                ends = [(x, y) for x, y, _, _ in places]
                ends += [(x + wide, y + high) for x, y, wide, high in places]
                assert all(wide >= 0 and high >= 0 for _, _, wide, high in places)
            case Line(points):
                ends = [*points]
            case Words():
                wide = letters(element.text, element.size) if not element.turn else 0
                left = {"start": 0.0, "middle": wide / 2, "end": wide}[element.at]
                ends = [(element.x - left, element.y), (element.x - left + wide, element.y)]
        for x, y in ends:
            assert -1 <= x <= picture.wide + 1, element
            assert -1 <= y <= picture.high + 1, element
