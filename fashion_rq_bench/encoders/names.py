"""What a model's name says: which kind it is, where it lies, by which record it is run.

In:  a name as typed: "splade", "owner/model", a folder, "cross-encoder:folder", "simcse:folder".
Out: a :class:`Target`; where nothing before a colon names the kind, a record or the folder's own
     configuration does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fashion_rq_bench.encoders.baselines import BASELINES, KINDS, Baseline, Kind, find_baseline
from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.support.files import read_json

__all__ = ["Target", "folder_kind", "parse_name"]


@dataclass(frozen=True)
class Target:
    """A model to be loaded.

    Attributes:
        kind: how it scores.
        source: a folder that is there, or a Hub id.
        baseline: the record it is run by; None for a model run as it declares itself.
        revision: commit, branch or tag named after "@"; None for the record's or the default one.
        asked: whether the kind was named, and not guessed.
    """

    kind: Kind
    source: str
    baseline: Baseline | None = None
    revision: str | None = None
    asked: bool = False

    @property
    def folder(self) -> Path | None:
        """The source as a folder; None for a Hub id."""
        return Path(self.source) if Path(self.source).is_dir() else None


def parse_name(name: str) -> Target | None:
    """What a name means; None if it can mean no model.

    Args:
        name: a folder; a baseline's short name or Hub id; any Hub id, also with "@revision"; or one
            of these after "KIND:" (run as it declares itself, by no record) or "BASELINE:" (run by
            that record). A Hub id with neither is taken for a dense model.
    """
    if name and Path(name).is_dir():
        return Target(folder_kind(Path(name)), name)
    head, colon, rest = name.partition(":")
    if not colon:
        return _plain(name)
    plain = Target("dense", rest) if rest and Path(rest).is_dir() else _plain(rest)
    if plain is None:
        return None
    if head in BASELINES:
        return replace(plain, kind=BASELINES[head].kind, baseline=BASELINES[head], asked=True)
    kind = next((kind for kind in KINDS if kind == head), None)
    return None if kind is None else replace(plain, kind=kind, baseline=None, asked=True)


def _plain(name: str) -> Target | None:
    """A baseline's name or a Hub id, with a revision or without."""
    source, _, revision = name.partition("@")
    baseline = find_baseline(source)
    if baseline is not None:
        return Target(baseline.kind, baseline.model, baseline, revision or None, asked=True)
    return Target("dense", source, revision=revision or None) if _is_hub_id(source) else None


def folder_kind(folder: Path) -> Kind:
    """Which kind of model a folder holds, by what its configuration declares; dense if nothing.

    sentence-transformers' ``model_type`` decides, then a SPLADE pooling among the modules, then the
    architecture: a classification head is a cross-encoder's, "HF_ColBERT" is late interaction.
    """
    declared = _KIND_OF_TYPE.get(_json(folder / "config_sentence_transformers.json", "model_type"))
    if declared is not None:
        return declared
    modules = _json(folder / "modules.json")
    types = [str(module.get("type", "")) for module in modules] if isinstance(modules, list) else []
    if any(kind.endswith("SpladePooling") for kind in types):
        return "sparse"
    if (folder / "open_clip_config.json").is_file():
        return "open-clip"
    if types:
        return "dense"
    architectures = [str(one) for one in _json(folder / "config.json", "architectures") or []]
    if "HF_ColBERT" in architectures:
        return "late-interaction"
    if any(one.endswith("ForSequenceClassification") for one in architectures):
        return "cross-encoder"
    return "dense"


_KIND_OF_TYPE: dict[Any, Kind] = {
    "SentenceTransformer": "dense",
    "SparseEncoder": "sparse",
    "MultiVectorEncoder": "late-interaction",
    "ColBERT": "late-interaction",
    "CrossEncoder": "cross-encoder",
}


def _json(path: Path, key: str | None = None) -> Any:
    try:
        found = read_json(path) if path.is_file() else None
    except ValueError as error:  # not JSON, or not UTF-8
        raise ModelError(f"{path} cannot be read: {error}.") from error
    return found.get(key) if key is not None and isinstance(found, dict) else found


def _is_hub_id(name: str) -> bool:
    odd = name.startswith((".", "/", "~")) or name.endswith("/") or ":" in name
    return name.count("/") == 1 and not odd
