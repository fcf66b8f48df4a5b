"""The colour dictionary and the colour comparator, against hand-worked values and scikit-image."""

from __future__ import annotations

import csv
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest

from fashion_rq_bench.relevance.comparators import ComparatorConfig, Pairs, color, comparators
from fashion_rq_bench.relevance.similarity import LexicalSimilarity

COLOR = comparators()["color"]
MYNTRA_BASE_COLORS = (
    "Black White Blue Brown Grey Red Green Pink|Navy Blue|Purple Silver Yellow Beige Gold Maroon "
    "Orange Olive|Cream Steel Charcoal Peach|Off White|Skin Lavender|Grey Melange|Khaki Magenta "
    "Teal Tan Mustard Bronze Copper|Turquoise Blue|Rust Burgundy Metallic|Coffee Brown|Mauve Rose "
    "Nude|Sea Green|Mushroom Brown|Taupe|Lime Green|Fluorescent Green"
)


def base_colors() -> list[str]:
    """The 45 base colours that are colours: all 47 but Multi and NA."""
    known = ("Navy Blue", "Off White", "Grey Melange", "Turquoise Blue", "Coffee Brown")
    known += ("Sea Green", "Mushroom Brown", "Lime Green", "Fluorescent Green")
    parts = (part.strip() for part in MYNTRA_BASE_COLORS.split("|"))
    return [name for part in parts for name in ([part] if part in known else part.split())]


def match(query: str, product: str) -> float:
    pair = (
        [COLOR.query_value(query)],
        [COLOR.query_value(product)],
    )
    return float(COLOR.scores(Pairs(*pair, LexicalSimilarity(), ComparatorConfig()))[0])


def distance(one: str, two: str) -> float:
    names = color.color_names()
    return float(color.delta_e()[names.index(one), names.index(two)])


def test_dictionary_covers_the_base_colors() -> None:
    assert len(base_colors()) == 45
    assert [name for name in base_colors() if color.color_of(name) not in color.color_names()] == []
    assert 85 <= len(color.color_names()) <= 110
    assert len(set(color.color_names())) == len(color.color_names())


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("gray", "grey"),
        ("GREY", "grey"),
        ("off-white", "off white"),
        ("Offwhite", "off white"),
        ("navy", "navy blue"),
        ("NavyBlue", "navy blue"),
        ("charcoal gray", "charcoal"),
        ("light gray", "light grey"),
        ("golden", "gold"),
        ("turquoise", "turquoise blue"),
        ("red colour", "red"),
        ("red coloured", "red"),
        ("multicoloured", "multi"),
        ("Multi-Color", "multi"),
    ],
)
def test_spellings(spelling: str, name: str) -> None:
    assert color.color_of(spelling) == name


@pytest.mark.parametrize("word", ["", "tank", "tangerine dream", "NA", "reddish", "colour"])
def test_other_words_are_no_colors(word: str) -> None:
    assert color.color_of(word) is None


def test_multi_has_no_place_in_lab() -> None:
    assert "multi" not in color.color_names()
    assert match("multicolour", "Multi") == 1.0
    assert match("multi", "Black") < 0.3


def test_no_spelling_stands_for_two_colors() -> None:
    source = (
        files("fashion_rq_bench")
        .joinpath("schema", "domains", "fashion", "colors.csv")
        .read_text(encoding="utf-8")
    )
    rows = list(csv.DictReader(source.splitlines()))
    claims = {
        (color._key(spelling), row["name"])
        for row in rows
        for spelling in [row["name"], *row["spellings"].split("|")]
        if spelling
    }
    claimed = Counter(key for key, _ in claims)
    assert [key for key, count in claimed.items() if count > 1] == []


# Lab (D65) of the swatches by the standard's formula, worked out by hand to two decimals.
LAB = {
    "white": (100.00, 0.00, 0.00),
    "black": (0.00, 0.00, 0.00),
    "red": (53.24, 80.09, 67.20),
    "green": (46.23, -51.70, 49.90),
    "blue": (32.30, 79.19, -107.86),
    "navy blue": (12.97, 47.50, -64.70),
    "yellow": (97.14, -21.55, 94.48),
    "grey": (53.59, 0.00, 0.00),
    "maroon": (25.53, 48.05, 38.06),
    "teal": (48.25, -28.85, -8.48),
}


@pytest.mark.parametrize("name", LAB)
def test_lab_values(name: str) -> None:
    found = color.lab_values()[color.color_names().index(name)]
    np.testing.assert_allclose(found, LAB[name], atol=0.02)


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("white", "black", 100.00),
        ("red", "green", 133.10),  # sqrt(7.01² + 131.79² + 17.30²)
        ("blue", "navy blue", 56.92),  # sqrt(19.33² + 31.69² + 43.16²)
        ("grey", "black", 53.59),
        ("grey", "white", 46.41),
        ("red", "maroon", 51.42),  # sqrt(27.71² + 32.04² + 29.14²)
        ("red", "yellow", 114.07),  # sqrt(43.90² + 101.64² + 27.28²)
        ("green", "teal", 62.73),  # sqrt(2.02² + 22.85² + 58.38²)
        ("blue", "yellow", 235.15),  # sqrt(64.84² + 100.74² + 202.34²)
    ],
)
def test_distances_by_hand(one: str, two: str, expected: float) -> None:
    assert distance(one, two) == pytest.approx(expected, abs=0.05)
    assert match(one, two) == pytest.approx(max(0.0, 1.0 - expected / 120.0), abs=0.001)


def test_delta_e_agrees_with_scikit_image() -> None:
    skimage = pytest.importorskip("skimage.color")
    lab = skimage.rgb2lab(color.srgb_values()[None])[0]
    expected = skimage.deltaE_cie76(lab[:, None], lab[None])
    assert np.abs(color.delta_e() - expected).max() <= 0.05


def test_pair_table_is_a_metric() -> None:
    table = color.delta_e()
    assert (np.diag(table) == 0).all()
    np.testing.assert_array_equal(table, table.T)
    off = table[~np.eye(len(table), dtype=bool)]
    assert off.min() > 2.0, "two names of one swatch should be spellings of one color"
    assert not table.flags.writeable


def test_unknown_color_falls_back_to_similarity() -> None:
    assert match("navy check", "Navy Blue") == pytest.approx(
        LexicalSimilarity()(["navy check"], ["navy blue"])[0]
    )
    assert match("unicorn", "UNICORN") == 1.0


def test_the_same_word_needs_no_similarity() -> None:
    class Nothing:
        name = "nothing"

        def __call__(self, left: list[str], right: list[str]) -> np.ndarray:
            return np.zeros(len(left))

    found = COLOR.scores(
        Pairs(["unicorn", "unicorn"], ["unicorn", "red"], Nothing(), ComparatorConfig())
    )
    assert found.tolist() == [1.0, 0.0]


def test_far_colors_stop_at_zero() -> None:
    assert match("red", "green") == 0.0
