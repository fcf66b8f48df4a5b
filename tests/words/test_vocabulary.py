"""The vocabulary: folding, number, synonyms, terms found in text."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.paths import ROOT
from hypothesis import given
from hypothesis import strategies as st

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.schema.domain import domain, load_domain, using
from fashion_rq_bench.words.folding import fold
from fashion_rq_bench.words.number import plural, singular
from fashion_rq_bench.words.terms import (
    canonical,
    choice_of,
    find_terms,
    synonyms,
    term_tables,
    terms,
)
from fashion_rq_bench.words.tokens import contains, token_key, tokens


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Men's T-Shirt ", "mens t shirt"),
        ("  Off—White\tShoes\n", "off white shoes"),
        ("Lancôme", "lancome"),
        ("STRASSE straße", "strasse strasse"),
        ("Reid & Taylor", "reid taylor"),
        ("कुर्ता", "कुर्ता"),
        ("100% cotton", "100 cotton"),
        ("", ""),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(st.text())
def test_fold_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("kurta", "kurtas"),
        ("kurti", "kurtis"),
        ("dress", "dresses"),
        ("scarf", "scarves"),
        ("glove", "gloves"),
        ("saree", "sarees"),
        ("shoe", "shoes"),
        ("watch", "watches"),
        ("accessory", "accessories"),
        ("tie", "ties"),
        ("clutch", "clutches"),
        ("blouse", "blouses"),
        ("nail polish", "nail polishes"),
        ("lip gloss", "lip glosses"),
        ("key chain", "key chains"),
        ("child", "children"),
        ("jeans", "jeans"),
        ("trousers", "trousers"),
        ("sunglasses", "sunglasses"),
        ("track pants", "track pants"),
        ("swimwear", "swimwear"),
    ],
)
def test_number(one: str, many: str) -> None:
    assert singular(many) == one
    assert plural(one) == many
    assert singular(one) == one
    assert plural(many) == many


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("t-shirt", "Tshirts"),
        ("Tee", "T Shirts"),
        ("kurta", "Kurtas"),
        ("jean", "Jeans"),
        ("flipflops", "Flip Flops"),
        ("sari", "Sarees"),
        ("night dress", "Nightdress"),
        ("sun glasses", "Sunglasses"),
        ("grey", "Gray"),
        ("man", "Men's"),
    ],
)
def test_spellings_of_one_thing_have_the_same_tokens(left: str, right: str) -> None:
    assert tokens(left) == tokens(right)


@pytest.mark.parametrize(
    ("text", "phrase", "found"),
    [
        ("tank top", "tan", False),
        ("women", "men", False),
        ("Apparel > Topwear > Kurtas", "kurta", True),
        ("Apparel > Topwear > Tshirts", "t-shirt", True),
        ("Casual Shoes", "casual shoe", True),
        ("shoes for casual days", "casual shoe", False),
        ("anything", "", False),
        ("", "kurta", False),
    ],
)
def test_contains_whole_tokens_only(text: str, phrase: str, found: bool) -> None:
    assert contains(text, phrase) is found


def test_token_key_contains_as_a_substring() -> None:
    assert token_key("t-shirts") in token_key("Puma Men Grey T-shirt")
    assert token_key("men") not in token_key("women")
    assert token_key(" -- ") == ""


@pytest.mark.data
def test_every_real_article_type_keeps_its_tokens_in_both_numbers(shared_data: Path) -> None:
    table = pq.read_table(shared_data / "myntra-catalog.parquet", columns=["articleType"])
    types = table["articleType"].unique().to_pylist()
    assert len(types) == 143
    for name in types:
        assert tokens(singular(name))[-1] == tokens(plural(name))[-1] == tokens(name)[-1], name
        assert contains(f"Apparel > Topwear > {name}", singular(name)), name
        assert contains(f"Apparel > Topwear > {name}", plural(name)), name


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("men", "male"),
        ("Gents", "male"),
        ("Boys", "male"),
        ("Adults-Men", "male"),
        ("Women's", "female"),
        ("ladies", "female"),
        ("girl", "female"),
        ("Unisex", "unisex"),
        ("for men and women", "unisex"),
        ("man-made leather", None),
        ("kurta", None),
        ("", None),
        (None, None),
    ],
)
def test_gender(value: str | None, expected: str | None) -> None:
    gender = domain().by_name["gender"]
    assert choice_of(gender, value) == expected
    assert expected is None or expected in gender.settings["values"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Adults-Men", "adult"),
        ("Adults-Unisex", "adult"),
        ("Kids-Girls", "kids"),
        ("boys", "kids"),
        ("infant", "baby"),
        ("baby boy", "baby"),
        ("Toddlers", "toddler"),
        ("baby pink shirt", None),
        ("Men", None),
        (None, None),
    ],
)
def test_age_group(value: str | None, expected: str | None) -> None:
    age_group = domain().by_name["age_group"]
    assert choice_of(age_group, value) == expected
    assert expected is None or expected in age_group.settings["values"]


@pytest.mark.parametrize(
    ("text", "attribute", "expected"),
    [
        ("Mens checkered shirt with stripes", "pattern", ["checked", "striped"]),
        ("Checks", "pattern", ["checked"]),
        ("a polka-dotted skirt", "pattern", ["polka dot"]),
        ("please check the size chart", "pattern", []),
        ("digital-print top", "pattern", ["digital print"]),
        ("made of 100% cotton", "material", ["cotton"]),
        ("polyester-cotton blend", "material", ["cotton blend"]),
        ("net weight 50 g", "material", []),
        ("cottony feel", "material", []),
        ("perfect for business casual days", "occasion", ["business casual"]),
        ("lounge wear", "occasion", ["loungewear"]),
        ("Slim-fit, off-the-shoulder", "style", ["slim fit", "off shoulder"]),
        ("3/4 sleeves", "style", ["three quarter sleeves"]),
    ],
)
def test_find_terms(text: str, attribute: str, expected: list[str]) -> None:
    assert find_terms([text], attribute) == [expected]


def test_find_terms_keeps_texts_apart() -> None:
    # "polka" ends one text and "dot print" starts the next: no phrase may run over the edge.
    assert find_terms(["slim", "fit and flare"], "style") == [["slim fit"], ["fit and flare"]]
    assert find_terms(["off", "shoulder", None, "", "off shoulder"], "style") == [
        [], [], [], [], ["off shoulder"],
    ]  # fmt: skip
    assert find_terms([], "style") == []


def test_find_terms_takes_arrow() -> None:
    array = pa.chunked_array([["silk saree", None], ["silk saree"]])
    assert find_terms(array, "material") == [["silk"], [], ["silk"]]


_WORDS = st.sampled_from(
    ["silk", "art", "cotton", "blend", "poly", "tan", "net", "weight", "slim", "fit", "the", "x"]
)


def _brute_force(text: str, attribute: str) -> list[str]:
    """Longest match first from the left, over plain strings and without the automaton."""
    spellings: dict[str, str] = {}
    for term, more in synonyms(attribute).items():
        for spelling in (term, *more):
            key = " ".join(singular(word) for word in fold(spelling).split())
            spellings.setdefault(key, term)
    ignored = domain().table("ignore").get(attribute, ())
    spellings |= {" ".join(singular(w) for w in fold(text).split()): "" for text in ignored}
    rest, found = " ".join(singular(word) for word in fold(text).split()), []
    while rest:
        hits = [s for s in spellings if re.match(rf"{re.escape(s)}(?= |$)", rest)]
        if hits and (term := spellings[max(hits, key=len)]) and term not in found:
            found.append(term)
        skip = len(max(hits, key=len).split()) if hits else 1
        rest = " ".join(rest.split()[skip:])
    return found


@given(st.lists(st.lists(_WORDS, max_size=6).map(" ".join), max_size=4))
def test_find_terms_equals_brute_force(texts: list[str]) -> None:
    assert find_terms(texts, "material") == [_brute_force(text, "material") for text in texts]


@pytest.mark.parametrize("attribute", term_tables())
def test_every_spelling_leads_to_its_term(attribute: str) -> None:
    for term, spellings in synonyms(attribute).items():
        for spelling in (term, *spellings):
            assert canonical(spelling, attribute) == term, spelling


@pytest.mark.parametrize("attribute", ["pattern", "material", "occasion", "style"])
def test_the_vocabulary_is_rich_and_unambiguous(attribute: str) -> None:
    assert len(terms(attribute)) >= 40
    folded = [
        tuple(singular(word) for word in fold(spelling).split())
        for term, more in synonyms(attribute).items()
        for spelling in {term, *more}
    ]
    twice = {spelling for spelling in folded if folded.count(spelling) > 1}
    assert not twice


def test_canonical_of_an_unknown_value_is_the_value_folded() -> None:
    assert canonical("Unobtainium-Weave", "material") == "unobtainium weave"


def test_an_attribute_without_terms_is_refused() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'pattern'"):
        find_terms(["x"], "patern")


@pytest.mark.data
def test_finding_terms_in_the_real_catalog_is_fast(shared_data: Path) -> None:
    table = pq.read_table(
        shared_data / "myntra-catalog.parquet", columns=["productDisplayName", "description"]
    )
    texts = [f"{t} {d or ''}" for t, d in zip(*table.to_pydict().values(), strict=True)]
    find_terms(texts[:10], "material")
    start = time.process_time()
    found = find_terms(texts, "material")
    assert time.process_time() - start < 5  # about half a second alone on the machine
    assert sum(map(bool, found)) > 9_000


def test_another_domain_has_its_own_words() -> None:
    assert tokens("a tee") == ("a", "tshirt")
    with using(load_domain(ROOT / "tests/helpers/domains/shoes.toml")) as shoes:
        assert term_tables() == ("heel", "closure")
        assert find_terms(["Laced sandals, a high heel"], "closure") == [["lace up"]]
        assert choice_of(shoes.by_name["heel"], "low heels, high heels") == "low"
        assert (singular("Boots"), plural("shoe"), tokens("tee")) == ("boot", "shoes", ("tee",))
        with pytest.raises(ConfigError):
            find_terms(["striped"], "pattern")
    assert tokens("a tee") == ("a", "tshirt")
    assert find_terms(["striped"], "pattern") == [["striped"]]
