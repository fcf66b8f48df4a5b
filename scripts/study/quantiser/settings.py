"""The rows of the study's tables, and how many seeds each gets.

In:  nothing. Out: ``SETTINGS`` (name to :class:`Setting`), ``PAPER`` (the paper's printed figures).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fashion_rq_bench.builders.rqvae import RQVAEConfig

__all__ = ["DEFAULT", "KMEANS", "NO_LOSS", "PAPER", "SETTINGS", "Setting"]

DEFAULT = RQVAEConfig(items_per_prefix=0)
"""The committed default; the K that is asked for is the K in force."""

NO_LOSS = "λ = 0"
KMEANS = "residual k-means"


@dataclass(frozen=True)
class Setting:
    """One row.

    Attributes:
        config: settings of the quantiser; its K, L and ``min_leaf`` hold for k-means, too.
        seeds: how many runs, seeds 0, 1, ...
        open_leaves: True for the codes before small leaves are closed.
        network: False for residual k-means on the embedding itself.
        downstream: whether to build pools from it and count their label noise.
    """

    config: RQVAEConfig
    seeds: int = 5
    open_leaves: bool = False
    network: bool = True
    downstream: bool = False


def _without(level: int) -> RQVAEConfig:
    """The default without supervision at one level."""
    labels = tuple(() if i == level else names for i, names in enumerate(DEFAULT.labels))
    return replace(DEFAULT, labels=labels)


_K128 = replace(DEFAULT, codebook_size=128)
_K256 = replace(DEFAULT, codebook_size=256)

SETTINGS: dict[str, Setting] = {
    "default": Setting(DEFAULT, 5, downstream=True),
    NO_LOSS: Setting(replace(DEFAULT, exclusivity=(0.0,)), 5, downstream=True),
    f"{KMEANS}, small leaves closed": Setting(DEFAULT, 5, network=False),
    KMEANS: Setting(DEFAULT, 5, open_leaves=True, network=False),
    "small leaves open": Setting(DEFAULT, 5, open_leaves=True),
    f"{NO_LOSS}, small leaves open": Setting(
        replace(DEFAULT, exclusivity=(0.0,)), 5, open_leaves=True
    ),
    "paper": Setting(replace(DEFAULT, recipe="paper")),
    "K = 128": Setting(_K128),
    "K = 128, small leaves open": Setting(_K128, open_leaves=True),
    "K = 256": Setting(_K256),
    "K = 256, small leaves open": Setting(_K256, open_leaves=True),
    "λ = 0.01": Setting(replace(DEFAULT, exclusivity=(0.01,))),
    "λ = 0.05": Setting(replace(DEFAULT, exclusivity=(0.05,))),
    "λ = 0.2": Setting(replace(DEFAULT, exclusivity=(0.2,))),
    "no labels at level 1": Setting(_without(0)),
    "no labels at level 2": Setting(_without(1)),
    "no labels at level 3": Setting(_without(2)),
    "gradient to the codebook only": Setting(replace(DEFAULT, gradient="codebook")),
    "codebooks placed once": Setting(replace(DEFAULT, restarts=())),
}
"""Most wanted first. A λ here holds at every level."""

PAPER: dict[str, dict[str, str]] = {
    "K = 64": {
        "type": ".983",
        "colour": ".879",
        "gender": ".981",
        "usage": ".977",
        "clusters": "44 / 3,378 / 23,956",
    },
    "K = 128": {
        "type": ".497",
        "colour": ".445",
        "gender": ".496",
        "usage": ".494",
        "clusters": "156 / 10,378 / 30,045",
    },
    "K = 256": {
        "type": ".010",
        "colour": ".010",
        "gender": ".010",
        "usage": ".010",
        "clusters": "267 / 17,378 / 36,122",
    },
}
"""The paper's Tables 5 (weighted purity) and 6 (clusters at levels 1 / 2 / 3)."""
