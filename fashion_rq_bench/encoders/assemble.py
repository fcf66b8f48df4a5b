"""From a record and a folder of weights to a model that sentence-transformers runs.

In:  a folder with safetensors, an :class:`EncoderConfig`, and a :class:`Baseline` or None.
Out: a ``SentenceTransformer``, ``SparseEncoder``, ``MultiVectorEncoder`` or ``CrossEncoder``.

Without a record the folder's own configuration decides everything; with one (paper, Tables 11-13)
the record does: pooling, projection, lengths, padding side and end-of-sequence rule.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fashion_rq_bench.encoders.baselines import Baseline, Kind
from fashion_rq_bench.encoders.encoding import EncoderConfig
from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.support.files import read_json
from fashion_rq_bench.support.optional import require
from fashion_rq_bench.support.progress import without_loading_bars

__all__ = ["assemble"]

_CLASSES: dict[Kind, str] = {
    "dense": "SentenceTransformer",
    "sparse": "SparseEncoder",
    "late-interaction": "MultiVectorEncoder",
    "cross-encoder": "CrossEncoder",
}


def assemble(
    kind: Kind, folder: Path, name: str, config: EncoderConfig, baseline: Baseline | None = None
) -> Any:
    """Load a model.

    Args:
        kind: which class runs it.
        folder: its files.
        name: how errors call it.
        config: device, dtype, length and whether its own code may run.
        baseline: the record it is run by; the folder's own configuration if None.

    Raises:
        MissingDependencyError: the ``build`` extra is not installed.
        ModelError: the folder holds no such model.
    """
    library = require("sentence_transformers", "build")
    cls = getattr(library, _CLASSES[kind])
    loading = _loading(config)
    try:
        with without_loading_bars():
            if baseline is None or kind == "late-interaction":
                model = cls(str(folder), device=config.device, local_files_only=True, **loading)
            else:
                modules = _modules(folder, baseline, loading)
                model = cls(modules=modules, device=config.device)
    except Exception as error:  # a damaged or foreign folder may raise anything
        raise ModelError(
            f"{name} could not be loaded as a {kind} model: {error}",
            fix="Name another kind before a colon, such as cross-encoder:FOLDER, if it is one.",
        ) from error
    _refuse_random_head(model, kind, folder, name, baseline)
    _set_lengths(model, kind, config, baseline)
    return model


def _loading(config: EncoderConfig) -> dict[str, Any]:
    torch = require("torch", "build")
    return {
        "trust_remote_code": config.trust_remote_code,
        "model_kwargs": {"use_safetensors": True, "dtype": getattr(torch, config.dtype)},
    }


def _modules(folder: Path, baseline: Baseline, loading: dict[str, Any]) -> list[Any]:
    """The record's chain of modules: transformer, pooling, projection."""
    pooling = require("sentence_transformers.sentence_transformer.modules", "build").Pooling
    transformer = _transformer(folder, baseline, loading)
    width = transformer.get_embedding_dimension()
    if baseline.pooling == "max-log1p-relu":
        sparse = require("sentence_transformers.sparse_encoder.modules", "build")
        return [transformer, sparse.SpladePooling(pooling_strategy="max")]
    if baseline.pooling == "pooler":
        return [transformer]
    if baseline.pooling == "last-token":
        return [transformer, pooling(width, "lasttoken")]
    modules = [transformer, pooling(width, "mean")]
    if baseline.pooling == "first-last-mean":
        modules.insert(1, _ours().FirstLastMean())
    if baseline.dense != "none":
        modules.append(_projection(folder, baseline))
    return modules


def _transformer(folder: Path, baseline: Baseline, loading: dict[str, Any]) -> Any:
    """The record's transformer. Its text input is named, so that no chat template is applied."""
    output, place = {
        "pooler": ("pooler_output", "sentence_embedding"),
        "max-log1p-relu": ("logits", "token_embeddings"),
    }.get(baseline.pooling, ("last_hidden_state", "token_embeddings"))
    cls = (
        _ours().AppendedEos
        if baseline.eos == "append-once"
        else require("sentence_transformers.base.modules", "build").Transformer
    )
    code = {"trust_remote_code": loading["trust_remote_code"], "local_files_only": True}
    task = "fill-mask" if baseline.kind == "sparse" else "feature-extraction"
    made = cls(
        str(folder),
        transformer_task=task,
        model_kwargs={**loading["model_kwargs"], **code},
        processor_kwargs={**code, "padding_side": baseline.padding_side},
        config_kwargs={**code, "output_hidden_states": baseline.pooling == "first-last-mean"},
        modality_config={"text": {"method": "forward", "method_output_name": output}},
        module_output_name=place,
    )
    if made.tokenizer.pad_token is None:  # Mistral's tokenizer has none; padding is masked anyway
        made.tokenizer.pad_token = made.tokenizer.eos_token
    return made


def _projection(folder: Path, baseline: Baseline) -> Any:
    """The projection that the folder's ``modules.json`` lists."""
    dense = require("sentence_transformers.base.modules", "build").Dense
    listing = folder / "modules.json"
    entries = read_json(listing) if listing.is_file() else []
    paths = [str(entry["path"]) for entry in entries if str(entry["type"]).endswith("Dense")]
    if len(paths) != 1:
        raise ModelError(
            f"{baseline.title} has one projection, and modules.json lists {len(paths)}."
        )
    made = dense.load(str(folder), subfolder=paths[0], local_files_only=True)
    if baseline.dense == "tanh":
        made.activation_function = require("torch", "build").nn.Tanh()
    return made


def _refuse_random_head(
    model: Any, kind: Kind, folder: Path, name: str, baseline: Baseline | None
) -> None:
    """Raise ModelError where the part that decides the scores is not among the weights.

    transformers fills such a part with random numbers and warns.
    """
    heads: tuple[str, ...] = ("classifier.", "score.") if kind == "cross-encoder" else ()
    if baseline is not None and baseline.pooling == "pooler":
        heads = ("pooler.",)
    loaded = model.transformers_model
    if loaded is None or not heads:
        return
    safetensors = require("safetensors", "build")
    kept: set[str] = set()
    for path in folder.rglob("*.safetensors"):
        with safetensors.safe_open(path, "numpy") as weights:
            kept.update(weights.keys())
    asked = [key for key in loaded.state_dict() if key.startswith(heads)]
    absent = [key for key in asked if not any(f".{one}".endswith(f".{key}") for one in kept)]
    if absent:
        raise ModelError(
            f"{name} cannot be run as a {kind} model here: its weights lack {absent[0]}, which "
            "would be random.",
            fix="Name the folder or revision of the trained model, not of its backbone.",
        )


def _set_lengths(model: Any, kind: Kind, config: EncoderConfig, baseline: Baseline | None) -> None:
    if config.max_length is not None and kind != "late-interaction":
        model.max_seq_length = config.max_length
    if kind != "late-interaction" or baseline is None:
        return
    transformer = model[0]
    transformer.document_length = baseline.max_length
    expansion = transformer.query_expansion
    if expansion is not None and baseline.query_length is not None:
        transformer.query_expansion = {**expansion, "length": baseline.query_length}


def _ours() -> Any:
    require("torch", "build")
    from fashion_rq_bench.encoders import _modules

    return _modules
