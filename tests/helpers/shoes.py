"""A made catalog of the domain shoes.

In:  a path, a number of products, a seed.
Out: a CSV whose columns are named after the attributes of ``domains/shoes.toml``.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

from fashion_rq_bench.schema.attributes import Domain
from fashion_rq_bench.schema.domain import load_domain

__all__ = ["SHOES", "shoes", "write_shoes"]

SHOES = Path(__file__).parent / "domains" / "shoes.toml"

TYPES = {
    "boots": ("closed shoes", ("leather", "suede")),
    "sneakers": ("closed shoes", ("canvas", "mesh")),
    "loafers": ("closed shoes", ("leather", "suede")),
    "sandals": ("open shoes", ("leather", "cork")),
    "pumps": ("open shoes", ("satin", "leather")),
    "flip flops": ("open shoes", ("rubber", "cork")),
}
HEELS = ("flat", "low", "mid", "high")
CLOSURES = ("lace up", "buckle", "slip on", "zip")
COLORS = ("black", "white", "red", "brown", "navy blue", "beige")
BRANDS = ("Kora", "Velt", "Amsel", "Nordweg", "Pilar")


def shoes() -> Domain:
    """The domain."""
    return load_domain(SHOES)


def write_shoes(path: Path, n: int = 3000, seed: int = 0) -> Path:
    """Write ``n`` products; about half of them say heel and closure in the title alone."""
    rng = random.Random(seed)
    rows = [_row(number, rng) for number in range(n)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def _row(number: int, rng: random.Random) -> dict[str, object]:
    kind = rng.choice(list(TYPES))
    sub, linings = TYPES[kind]
    heel = rng.choice(HEELS[:2] if kind in ("sneakers", "flip flops") else HEELS)
    closure, color, brand = rng.choice(CLOSURES), rng.choice(COLORS), rng.choice(BRANDS)
    lining, told = rng.choice(linings), rng.random() < 0.5
    return {
        "product_id": f"s{number}",
        "title": f"{brand} {color.title()} {heel.title()} Heel {closure.title()} {kind.title()}",
        "description": f"{kind.title()} lined with {lining}.",
        "master_category": "shoes",
        "sub_category": sub,
        "product_type": kind,
        "heel": heel if told else "",
        "closure": closure if told else "",
        "color": color,
        "brand": brand,
        "lining": lining,
        "price": rng.randrange(20, 200),
    }
