"""The offline verbalizer: words, number, articles, intents by construction."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from fashion_rq_bench.builders.queries.check.verify import form_faults
from fashion_rq_bench.builders.queries.grammar.frames import fitting
from fashion_rq_bench.builders.queries.grammar.nouns import _article
from fashion_rq_bench.builders.queries.grammar.verbalizer import verbalize
from fashion_rq_bench.builders.queries.say.draw import either, pick, weighted
from fashion_rq_bench.builders.queries.say.lexicon import (
    brand_name,
    group_forms,
    occasion_forms,
    person_forms,
    said,
    type_forms,
    value_forms,
)
from fashion_rq_bench.builders.queries.say.plan import Plan, can_name_person, intents_of
from fashion_rq_bench.schema.domain import domain

SHIRTS = Plan(
    ("Shirts",),
    {
        "gender": ("Men",),
        "color": ("Black", "Navy Blue"),
        "brand": ("SCULLERS",),
        "occasion": ("formal",),
        "pattern": ("striped",),
    },
)
SHOES = Plan(
    ("Casual Shoes",), {"gender": ("Women",), "occasion": ("casual",), "color": ("Multi",)}
)


def wordings(plan: Plan, count: int = 60, seed: int = 0) -> list[str]:
    return list(islice(verbalize(plan, np.random.default_rng(seed)), count))


def test_every_wish_is_said() -> None:
    for text in wordings(SHIRTS, 200):
        folded = text.lower()
        for word in ("shirt", "men", "black", "navy blue", "scullers", "strip"):
            assert word in folded, text
        assert any(word in folded for word in ("formal", "office", "work")), text


def test_a_person_says_gender_and_age() -> None:
    plan = Plan(("Watches",), {"gender": ("Women",)}, person=True)
    persons = person_forms("Women").gift
    for text in wordings(plan):
        assert any(person[3:] in text.lower() for person in persons), text
    assert intents_of(plan)[0]["age_group"] == "adult"
    assert intents_of(Plan(("Watches",), {"gender": ("Women",)}))[0]["age_group"] is None


def test_intents_are_complete_and_spelled_as_the_catalog_does() -> None:
    (intent,) = intents_of(SHIRTS)
    assert set(intent) == set(domain().names)
    assert intent["product_type"] == "shirts"
    assert intent["color"] == ["black", "navy blue"]
    assert intent["brand"] == ["SCULLERS"]
    assert intent["material"] is None


def test_boys_are_kids() -> None:
    assert intents_of(Plan(("Tshirts",), {"gender": ("Boys",)}))[0]["age_group"] == "kids"


def test_two_types_give_two_intents_and_one_noun_phrase() -> None:
    plan = Plan(("Sandals", "Flats"), {"color": ("Red",)})
    assert [intent["product_type"] for intent in intents_of(plan)] == ["sandals", "flats"]
    assert all("sandals or flats" in text.lower() for text in wordings(plan))


def test_words_do_not_repeat_themselves() -> None:
    for text in wordings(SHOES, 200):
        assert text.lower().count("casual") == 1, text
        assert "multi" in text.lower(), text
    red = Plan(("Formal Shoes",), {"brand": ("Red Tape",), "color": ("Red",), "gender": ("Men",)})
    assert not any("red red" in text.lower() for text in wordings(red, 100))


def test_form() -> None:
    for plan in (SHIRTS, SHOES):
        for text in wordings(plan, 200):
            assert not form_faults(text), text
            assert "  " not in text
            assert not text.endswith((" .", "..", " ?"))


def test_variety() -> None:
    assert len(set(wordings(SHIRTS, 200))) > 120


def test_same_seed_same_words() -> None:
    assert wordings(SHIRTS, 30, seed=5) == wordings(SHIRTS, 30, seed=5)
    assert wordings(SHIRTS, 30, seed=5) != wordings(SHIRTS, 30, seed=6)


@pytest.mark.parametrize(
    ("words", "article"),
    [
        ("black shirt", "a"),
        ("orange top", "an"),
        ("unisex cap", "a"),
        ("U.S. Polo Assn. shirt", "a"),
        ("FNF saree", "an"),
        ("UCB shirt", "a"),
        ("FILA cap", "a"),
        ("Arrow shirt", "an"),
        ("everyday watch", "an"),
    ],
)
def test_article(words: str, article: str) -> None:
    assert _article(words) == article


def test_number() -> None:
    bag, jeans = type_forms("Handbags"), type_forms("Jeans")
    assert (bag.one[0], bag.many[0], bag.pair) == ("handbag", "handbags", False)
    assert jeans.pair
    assert type_forms("Space Suits").many == ("space suits",)
    assert group_forms("Jewellery").mass
    assert group_forms("Nonsense").many == ("nonsenses",)


def test_pairs_and_single_pieces() -> None:
    texts = " ".join(wordings(Plan(("Jeans",), {"color": ("Blue",)}), 200)).lower()
    assert "a blue jeans" not in texts
    assert "a pair of blue jeans" in texts
    texts = " ".join(wordings(Plan(("Handbags",), {"color": ("Orange",)}), 200)).lower()
    assert "an orange handbag" in texts
    assert "a orange" not in texts


def test_lexicon_words() -> None:
    assert brand_name("SCULLERS") == "Scullers"
    assert brand_name("UCB") == "UCB"
    assert brand_name("maxima") == "Maxima"
    assert value_forms("style_tags", "mandarin collar").post == ("with a mandarin collar",)
    assert value_forms("material", "linen").post[0] == "in linen"
    assert occasion_forms("snorkelling").post["any"] == ("for snorkelling",)
    assert not said("material", "EVA")
    assert not said("color", "blue", "scent")
    assert said("color", "blue", "wear")


def test_no_gifts_of_underwear() -> None:
    assert can_name_person(SHIRTS)
    assert not can_name_person(Plan(("Briefs",), {"gender": ("Men",)}))
    assert not can_name_person(Plan(("Shirts",), {"gender": ("Unisex",)}))


def test_draws() -> None:
    rng = np.random.default_rng(0)
    assert pick((), rng) == ""
    assert {weighted([0, 1, 0], rng) for _ in range(20)} == {1}
    assert either(["black", "brown", "tan"]) == "black, brown or tan"


def test_frames_that_fit() -> None:
    assert all("person" not in frame.slots for frame in fitting(SHIRTS))
    several = fitting(Plan(("Sandals", "Flats"), {"color": ("Red",)}))
    assert {frame.number for frame in several} == {"many"}
    total = sum(frame.weight for frame in fitting(SHIRTS))
    assert total == pytest.approx(1.0)
