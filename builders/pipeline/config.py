"""Every knob of a build, as one object.

In:  nested values (TOML, command line), or the name of a shipped configuration.
Out: a :class:`BuildConfig`, and the settings as an edition states them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fashion_rq_bench.builders.catalog import CatalogConfig
from fashion_rq_bench.builders.context.stage import ContextConfig
from fashion_rq_bench.builders.embedding import EmbeddingConfig
from fashion_rq_bench.builders.hierarchy.clusters import HierarchyConfig
from fashion_rq_bench.builders.queries import LLMConfig, QueryConfig
from fashion_rq_bench.builders.rqvae.config import RQVAEConfig
from fashion_rq_bench.builders.tasks.stage import TaskConfig
from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.schema.domain import DEFAULT, load_domain, using
from fashion_rq_bench.support import settings as _config

__all__ = ["BuildConfig"]


@dataclass(frozen=True)
class BuildConfig:
    """Every knob of a build, one section per stage.

    Attributes:
        name: the edition's name, shown on its card.
        source: where the catalog comes from, in words or a link; None shows its file name.
        license: licence id of the catalog as the Hub writes it, e.g. "mit".
        seed: the seed of every stage whose own seed is not set in its section.
        text_encoder: the declared encoder of the ``strings`` table, part of the metric's identity.
        reuse: an edition whose semantic IDs and string vectors are taken over where they fit, so
            that its text and tasks can be rebuilt to the same bytes on any machine.
        domain: what is sold: "fashion", or the path of a domain's TOML file.
    """

    name: str = "custom"
    source: str | None = None
    license: str = "other"
    seed: int = 0
    text_encoder: str = "minilm"
    reuse: str | None = None
    domain: str = DEFAULT
    catalog: CatalogConfig = field(default_factory=CatalogConfig)
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    rqvae: RQVAEConfig = field(default_factory=RQVAEConfig)
    hierarchy: HierarchyConfig = field(default_factory=HierarchyConfig)
    context: ContextConfig = field(default_factory=ContextConfig)
    queries: QueryConfig = field(default_factory=QueryConfig)
    llm: LLMConfig = field(default_factory=LLMConfig)
    tasks: TaskConfig = field(default_factory=TaskConfig)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> BuildConfig:
        """Build from nested values (TOML); the top-level seed reaches every section.

        The language model's endpoint and name come from the environment where ``values`` do not
        give them.

        Raises:
            ConfigError: on an unknown key or a value out of range, with the nearest match.
        """
        seed = values.get("seed", cls.seed)
        sections = {
            item.name: {"seed": seed, **values.get(item.name, {})}
            for item in dataclasses.fields(cls)
            if dataclasses.is_dataclass(item.default_factory) and _has_seed(item.default_factory)
        }
        with using(load_domain(values.get("domain") or DEFAULT)):  # defaults name its columns
            made = _config.from_mapping(cls, {**values, **sections})
        given = values.get("llm", {})
        return dataclasses.replace(made, llm=made.llm.with_environment(keep=given))

    @classmethod
    def preset(cls, name: str) -> Mapping[str, Any]:
        """The values of a configuration that ships with the package, e.g. "myntra-416".

        Raises:
            ConfigError: if there is none of that name and no such file.
        """
        folder = Path(__file__).parent / "configs"
        named = folder / f"{name}.toml"
        if named.is_file():
            return _config.read_toml(named)
        if Path(name).suffix == ".toml" or Path(name).is_file():
            return _config.read_toml(Path(name))
        known = sorted(path.stem for path in folder.glob("*.toml"))
        raise ConfigError(
            "There is no configuration of this name.",
            given=name,
            allowed=known,
            fix="Or give the path of a TOML file.",
        )

    def declared(self) -> dict[str, Any]:
        """The settings as an edition states them: without paths of the machine that built it."""
        values = {**_config.to_mapping(self), "reuse": None, "llm": self.llm.published}
        # fashion's editions say nothing of it; others carry the domain itself
        del values["domain"]
        encoder = Path(self.embedding.encoder)
        if encoder.is_dir():
            values["embedding"] = {**values["embedding"], "encoder": encoder.name}
        return values


def _has_seed(kind: object) -> bool:
    return any(item.name == "seed" for item in dataclasses.fields(kind))  # type: ignore[arg-type]
