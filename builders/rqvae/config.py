"""Settings of the quantiser (paper, section 3; docs/design/0004-quantiser.md says why these).

In:  nothing. Out: :class:`RQVAEConfig`. Imports no torch.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.schema.domain import domain

__all__ = ["RQVAEConfig", "default_labels", "naming", "paper_labels"]

Labels = tuple[tuple[str, ...], ...]


def naming() -> str:
    """All that a plain query names: type, colour and person, as far as the domain has them."""
    roles = map(domain().role, ("type", "color", "person"))
    return "+".join(one.column for one in roles if one and one.column not in domain().lists)


def default_labels() -> Labels:
    """Labels of the default recipe: the type, then twice all that a plain query names."""
    return (("article_type",), (naming(),), (naming(),))


def paper_labels() -> Labels:
    """Label columns per level as in the paper; ``a+b`` is the combination of two attributes."""
    third = tuple(f"article_type+{name}" for name in domain().plain("paper_labels"))
    return (("master_category",), ("article_type",), third)


PAPER_HIDDEN = (512, 256, 128)
"""The paper's encoder, d → 512 → 256 → 128 → 32. One hidden layer learns faster and keeps more."""

RECIPES = ("default", "paper")
PATHS = ("codebook", "straight-through")


@dataclass(frozen=True)
class RQVAEConfig:
    """Every knob of model, loss and training.

    Attributes:
        levels: L, the length of a semantic ID.
        codebook_size: K, at most 65,536. A small catalog gets a smaller K, so that
            splitting does not empty its clusters: K^(L-1) × ``items_per_prefix`` ≤ N. The K in
            force is in the diagnostics.
        items_per_prefix: see ``codebook_size``; 0 keeps K whatever the catalog's size.
        hidden: widths of the encoder's hidden layers; the decoder mirrors them.
        latent: width of the quantised space.
        beta: weight of the commitment loss (equation 3).
        temperature: τ of the exclusivity loss (equation 4).
        exclusivity: λ per level (one number is used for all levels); 0 switches it off. Lowered
            by the square of the ratio where a small catalog lowers K.
        gradient: "codebook" sends the exclusivity loss's gradient to the code vectors only,
            "straight-through" to the encoder as well.
        labels: label columns per level; "a+b" joins two attributes.
        min_leaf: fewest products of a prefix; the nearest larger one takes the products of smaller
            ones (``tree.py``). 1 leaves plain residual quantisation, as in the paper. Lowered in
            proportion where a small catalog lowers K.
        epochs: passes over the catalog.
        min_steps: lower bound of optimiser steps; small catalogs get more epochs.
        settle: share of the steps spent on the plain autoencoder before the codebooks start.
        restarts: shares of the steps after which k-means places the codebooks anew, on latents
            that the exclusivity loss has shaped by then.
        revive_below: codes chosen less often than this share of an even use move, after each epoch,
            to where items are; 0 moves only codes that nothing chose.
        batch_size: at most a quarter of the catalog.
        learning_rate: peak of AdamW's rate after a linear warm-up; falls to zero as a cosine.
        weight_decay: AdamW's.
        warmup: share of the steps that warm up.
        clip: largest norm of the gradient.
        held_out: share of the products kept from training, for the early stop.
        patience: share of the epochs without progress on held-out products after which training
            stops.
        bf16: run the encoder and decoder in bfloat16 while training (assignment is float32).
        threads: of the CPU. One gives the same bytes whatever the number of cores, and is the
            fastest at the default sizes: with two, threads wait for each other at every small
            product (14 times slower beside another busy process). Use more for wide embeddings
            with large batches.
        seed: of everything random.
        min_perplexity: floor at every level, as a share of K; below it the build fails.
        min_coverage: floor of the share of products inside qualifying leaves.
        recipe: "default", or "paper" for the paper's literal settings.
    """

    levels: int = 3
    codebook_size: int = 64
    items_per_prefix: int = 10
    hidden: tuple[int, ...] = (256,)
    latent: int = 64
    beta: float = 0.1
    temperature: float = 0.07
    exclusivity: tuple[float, ...] = (0.03, 0.01, 0.005)
    gradient: str = "straight-through"
    labels: Labels = field(default_factory=default_labels)
    min_leaf: int = 5
    epochs: int = 20
    min_steps: int = 800
    settle: float = 0.1
    restarts: tuple[float, ...] = (0.3, 0.45)
    revive_below: float = 0.25
    batch_size: int = 1024
    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    warmup: float = 0.05
    clip: float = 1.0
    held_out: float = 0.02
    patience: float = 0.6
    bf16: bool = False
    threads: int = 1
    seed: int = 0
    min_perplexity: float = 0.15
    min_coverage: float = 0.3
    recipe: str = "default"

    def __post_init__(self) -> None:
        self._check_shape()
        self._check_training()

    def _check_shape(self) -> None:
        if self.recipe not in RECIPES:
            raise ConfigError("There is no such recipe.", given=self.recipe, allowed=RECIPES)
        if self.gradient not in PATHS:
            raise ConfigError(
                "The exclusivity loss has no such gradient path.",
                given=self.gradient,
                allowed=PATHS,
            )
        if not 1 <= self.levels <= 16:
            raise ConfigError("levels must be between 1 and 16.", given=self.levels)
        if not 2 <= self.codebook_size <= 65_536:
            raise ConfigError(
                "codebook_size must be between 2 and 65,536 (codes are uint16).",
                given=self.codebook_size,
            )
        if len(self.labels) != self.levels:
            raise ConfigError(
                f"labels needs one list of columns per level, that is {self.levels}.",
                given=len(self.labels),
                fix="Use an empty list for a level without supervision.",
            )
        if len(self.exclusivity) not in (1, self.levels) or min(self.exclusivity) < 0:
            raise ConfigError(
                f"exclusivity needs one number, or {self.levels} (one per level), none negative.",
                given=self.exclusivity,
            )
        if self.latent < 1 or any(width < 1 for width in self.hidden):
            raise ConfigError("Layer widths must be positive.", given=(*self.hidden, self.latent))

    def _check_training(self) -> None:
        positive = (
            "min_leaf",
            "epochs",
            "batch_size",
            "learning_rate",
            "temperature",
            "clip",
            "threads",
        )
        for name in positive:
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be positive.", given=getattr(self, name))
        shares = ("settle", "revive_below", "warmup", "held_out", "min_perplexity", "min_coverage")
        for name in shares:
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name} is a share in [0, 1).", given=getattr(self, name))
        if any(not 0 < share < 1 for share in self.restarts):
            raise ConfigError("restarts are shares in (0, 1).", given=self.restarts)

    @property
    def weights(self) -> tuple[float, ...]:
        """λ per level."""
        return self.exclusivity * (self.levels if len(self.exclusivity) == 1 else 1)

    def resolved(self) -> RQVAEConfig:
        """The settings in force: the paper's literal ones if ``recipe`` says so."""
        if self.recipe == "default":
            return self
        return replace(
            self,
            hidden=PAPER_HIDDEN,
            latent=32,
            labels=paper_labels(),
            exclusivity=(0.05,),
            gradient="codebook",
            beta=0.25,
            revive_below=0.0,
            learning_rate=1e-3,
            restarts=(),
            min_leaf=1,
        )

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return asdict(self)
