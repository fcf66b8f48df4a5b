"""How much of planted weights short trainings return: the table of docs/weights.md.

In:  a catalog.
Out: per seed a MiniLM cross-encoder trained on relevance drawn from R(q, p), in OUT/SEED; a
     Markdown table of its quality, of the sanity set and of the weights fitted with it.

About three minutes a seed on one thread.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.builders.weights.ablation import AblationConfig
from fashion_rq_bench.builders.weights.cross_encoder import (
    CrossEncoderConfig,
    Trained,
    train_cross_encoder,
)
from fashion_rq_bench.builders.weights.derive import Derived, derive, from_catalog
from fashion_rq_bench.builders.weights.fit import WeightsConfig
from fashion_rq_bench.builders.weights.ridge import RidgeConfig
from fashion_rq_bench.builders.weights.synthetic import (
    SyntheticConfig,
    draw_pairs,
    draw_queries,
    product_texts,
)
from fashion_rq_bench.builders.weights.training_pairs import split_by_query
from fashion_rq_bench.relevance.settings import default_weights

_NAMES = sorted(SyntheticConfig().attributes, key=lambda name: -default_weights()[name])
_FIT_SEED = 7


def trained(source: str, seed: int, out: Path) -> Trained:
    """A model trained on pairs drawn with this seed."""
    products, config = read_catalog(source).table, SyntheticConfig(seed=seed)
    texts = product_texts(products, bare_share=config.bare_share, seed=seed)
    pairs = draw_pairs(draw_queries(products, config), products, texts, config)
    settings = replace(CrossEncoderConfig.small(), seed=seed)
    return train_cross_encoder(*split_by_query(pairs), out, settings, data={"description": False})


def fitted(source: str, model: Path) -> Derived:
    """Weights with it; raises if the gate does not let it pass."""
    settings = WeightsConfig(
        ablation=AblationConfig(max_twins=100, queries_per_twin=1, seed=_FIT_SEED),
        ridge=RidgeConfig(n_pairs=1_500, seed=_FIT_SEED),
    )
    data = from_catalog(source, SyntheticConfig(n_queries=4_000, seed=_FIT_SEED))
    return derive(model, data, settings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--catalog", required=True)
    parser.add_argument("--out", type=Path, default=Path("out/weights"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    given = parser.parse_args()
    head = ["seed", "ROC-AUC", "margin", "pairwise", *_NAMES]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    for seed in given.seeds:
        model = trained(given.catalog, seed, given.out / str(seed))
        found = fitted(given.catalog, model.path)
        numbers = [model.quality.roc_auc, found.sanity.margin, found.sanity.pairwise]
        numbers += [found.weights.blend.weights[name] for name in _NAMES]
        cells = [str(seed), *(f"{number:.3f}" for number in numbers)]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
