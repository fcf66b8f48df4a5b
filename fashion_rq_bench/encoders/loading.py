"""Where a model's files lie, and the settings they are run with.

In:  a :class:`~fashion_rq_bench.encoders.names.Target` and an :class:`EncoderConfig`.
Out: a :class:`Located`: a folder of safetensors, what identifies its content, and the settings of
     the record where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from fashion_rq_bench.encoders._weights import download, folder_hash, refuse_pickled
from fashion_rq_bench.encoders.baselines import Baseline
from fashion_rq_bench.encoders.encoding import EncoderConfig
from fashion_rq_bench.encoders.names import Target, folder_kind
from fashion_rq_bench.errors import ConfigError, ModelError

__all__ = ["Located", "locate", "run_settings"]


@dataclass(frozen=True)
class Located:
    """A model whose files are here.

    Attributes:
        folder: of its files.
        name: Hub id or folder name.
        revision: commit, or hash of the folder's content.
        config: how it is run.
        baseline: the record it is run by, or None.
    """

    folder: Path
    name: str
    revision: str
    config: EncoderConfig
    baseline: Baseline | None


def locate(target: Target, config: EncoderConfig) -> Located:
    """Find a model's folder, downloading it if it is a Hub id.

    Raises:
        ConfigError: a record without a verified commit, and no commit was named.
        ModelError: no such model, pickled weights only, or a model of another kind.
    """
    settings = run_settings(target.baseline, config)
    folder = target.folder
    if folder is not None:
        refuse_pickled(folder, folder.name)
        name, revision = folder.resolve().name, folder_hash(folder)
        return Located(folder, name, revision, settings, target.baseline)
    commit = target.revision or settings.revision
    if commit is None and target.baseline is not None:
        raise ConfigError(
            f"No commit of {target.source} could be verified, so none is pinned.",
            fix=f"Choose one: {target.baseline.name}:{target.source}@COMMIT",
        )
    folder, commit = download(target.source, commit)
    found = folder_kind(folder)
    if not target.asked and found != target.kind:
        raise ModelError(
            f"{target.source} is a {found} model.", fix=f"Name it as {found}:{target.source}"
        )
    return Located(folder, target.source, commit, settings, target.baseline)


def run_settings(baseline: Baseline | None, config: EncoderConfig) -> EncoderConfig:
    """The settings a model is run with: a record's own, but for device and permissions."""
    if baseline is None:
        return config
    return replace(
        config,
        revision=config.revision or baseline.revision,
        dtype=baseline.dtype,
        batch_size=baseline.batch_size,
        max_length=baseline.max_length,
        query_prompt=baseline.query_prompt,
        document_prompt="",
        normalize=baseline.normalize,
    )
