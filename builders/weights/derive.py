"""From a trained cross-encoder to attribute weights: gate, both estimators, blend (paper 8.0.5).

In:  a model's folder; queries with intents and products, of an edition or drawn from a catalog.
Out: :class:`Derived`: the weights, what the sanity set says of the model, and the provenance that
     the weights file carries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from fashion_rq_bench._version import __version__
from fashion_rq_bench.builders.catalog import read_catalog
from fashion_rq_bench.builders.weights.fit import Weights, WeightsConfig, fit_weights
from fashion_rq_bench.builders.weights.sanity import (
    SanityReport,
    check_sanity,
    read_sanity,
    require_sane,
)
from fashion_rq_bench.builders.weights.synthetic import SyntheticConfig, draw_queries, product_texts
from fashion_rq_bench.builders.weights.text_oracle import (
    TRAINING,
    TextOracle,
    load_cross_encoder,
    predict_logits,
)
from fashion_rq_bench.editions.edition import Edition, in_its_domain
from fashion_rq_bench.schema.attributes import Domain
from fashion_rq_bench.schema.domain import domain, using
from fashion_rq_bench.support.files import digest, file_sha256, read_json

__all__ = [
    "Derived",
    "FitData",
    "catalog_name",
    "check_model",
    "derive",
    "from_catalog",
    "from_edition",
]


@dataclass(frozen=True)
class FitData:
    """What weights are fitted on.

    Attributes:
        queries: (Q,) their texts.
        intents: (Q,) ``list<INTENT>``.
        products: a catalog.
        told: where it comes from, for the provenance.
        domain: what the products are.
    """

    queries: list[str]
    intents: pa.ListArray
    products: pa.Table
    told: Mapping[str, Any]
    domain: Domain = field(default_factory=domain)


@in_its_domain
def from_edition(edition: Edition) -> FitData:
    """An edition's own queries and corpus."""
    queries = edition.table("queries", ["query", "intents"]).combine_chunks()
    told = {"edition": edition.name, "edition_id": edition.id}
    return FitData(
        queries["query"].to_pylist(),
        queries["intents"].combine_chunks(),
        edition.table("corpus"),
        told,
    )


def from_catalog(source: str, config: SyntheticConfig | None = None) -> FitData:
    """Queries drawn from a catalog, see :func:`~.synthetic.draw_queries`.

    Args:
        source: as :func:`~fashion_rq_bench.builders.catalog.read_catalog` takes it.
        config: how many queries, of what.
    """
    config = config or SyntheticConfig()
    products = read_catalog(source).table
    drawn = draw_queries(products, config)
    told = {"catalog": catalog_name(source), "queries": asdict(config)}
    return FitData(drawn.texts, drawn.intents, products, told)


def catalog_name(source: str) -> str:
    """How a provenance names a catalog: without the folders of this machine."""
    return source if source.startswith("synthetic:") else Path(source).name


@dataclass(frozen=True)
class Derived:
    """Weights of a model.

    Attributes:
        weights: both estimates and the blend.
        sanity: what the gate saw.
        provenance: oracle, sanity set, data, settings; for :func:`~.fit.write_weights`.
    """

    weights: Weights
    sanity: SanityReport
    provenance: Mapping[str, Any]


def derive(
    folder: Path, data: FitData, config: WeightsConfig | None = None, *, sanity: Path | None = None
) -> Derived:
    """Check a cross-encoder on the sanity set, then fit weights with it (paper 8.0.5).

    Args:
        folder: of the model, from :func:`~.cross_encoder.train_cross_encoder`.
        data: queries and products.
        config: of the fit.
        sanity: another sanity set than ours, see :func:`~.sanity.read_sanity`.

    Raises:
        ModelError: if there is no model, or it gives no finite logits.
        QualityError: if it fails the sanity set.
        InputError: if the sanity set cannot be used, or no attribute matters to the model.
    """
    config = config or WeightsConfig()
    model = load_cross_encoder(folder)
    training = _training(folder)
    described = bool(training.get("data", {}).get("description", True))
    with using(data.domain):
        report = check_model(model, sanity)
        require_sane(report)
        texts = product_texts(data.products, description=described)
        oracle = TextOracle(model, data.queries, texts)
        weights = fit_weights(oracle, data.intents, data.products, config)
    provenance = {
        "package": __version__,
        "oracle": {"sha256": _digest(folder), "training": training},
        "sanity": asdict(report) | {"set": sanity.name if sanity else "ours"},
        "data": dict(data.told)
        | {"n_queries": len(data.queries), "n_products": len(data.products)},
        "settings": asdict(config),
    }
    return Derived(weights, report, provenance)


def check_model(model: Any, sanity: Path | None = None) -> SanityReport:
    """What a sanity set (ours by default) says of a loaded cross-encoder."""
    return check_sanity(lambda q, t: predict_logits(model, q, t), read_sanity(sanity))


def _training(folder: Path) -> dict[str, Any]:
    """What the folder tells of its training, without the loss curve; empty if it does not."""
    path = folder / TRAINING
    content = read_json(path) if path.is_file() else {}
    return {name: value for name, value in content.items() if name != "losses"}


def _digest(folder: Path) -> str:
    """Over all weights of the model, by file name."""
    files = sorted(folder.rglob("*.safetensors"))
    return digest(*(part for one in files for part in (one.name, file_sha256(one))))
