"""Training state and finished models on disk (safetensors and JSON, never pickle).

In:  a run or a model. Out: ``state.safetensors`` (weights, moments) with its JSON in the header.

One file per save, renamed into place, so that a kill leaves the last whole epoch. Randomness is a
function of (seed, epoch) and needs no saving.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from fashion_rq_bench.builders.rqvae.config import RQVAEConfig
from fashion_rq_bench.builders.rqvae.model import RQVAE
from fashion_rq_bench.errors import InputError
from fashion_rq_bench.support.files import atomic_path, digest, to_json, write_json

if TYPE_CHECKING:
    from fashion_rq_bench.builders.rqvae.train import Run

__all__ = ["load_model", "load_state", "run_key", "save_model", "save_state"]

_STATE = "state.safetensors"
_MODEL = "model.safetensors"
_MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def run_key(data: Tensor, labels: list[list[Tensor]], config: RQVAEConfig) -> str:
    """Digest of everything a run's result depends on; another run's state is never resumed."""
    columns = [column.numpy().tobytes() for level in labels for column in level]
    shape = [len(level) for level in labels]
    return digest(to_json([config.as_dict(), shape]), data.numpy().tobytes(), *columns)


def save_state(run: Run, folder: Path, epoch: int) -> None:
    """Write weights, AdamW's moments and what was seen, as of the end of an epoch."""
    tensors = {f"model.{name}": value for name, value in run.model.state_dict().items()}
    for name, parameter in run.model.named_parameters():
        state = run.optimiser.state.get(parameter, {})
        tensors |= {f"{key}.{name}": state[key] for key in _MOMENTS if key in state}
    about = {"key": run.key, "epoch": epoch, "history": run.history.epochs}
    _write(tensors, about, folder / _STATE)
    write_json(about, folder / "state.json")  # for people; the header is what is read


def load_state(run: Run, folder: Path) -> int:
    """Restore a state of the same run.

    Returns:
        The number of finished epochs; 0 if there is no state of this very run.
    """
    read = _read(folder / _STATE)
    if read is None or read[1].get("key") != run.key:
        return 0
    tensors, about = read
    run.model.load_state_dict(
        {name.removeprefix("model."): t for name, t in tensors.items() if name.startswith("model.")}
    )
    for name, parameter in run.model.named_parameters():
        state = {key: tensors[f"{key}.{name}"] for key in _MOMENTS if f"{key}.{name}" in tensors}
        if state:
            run.optimiser.state[parameter] = state
    run.history.epochs = about["history"]
    return int(about["epoch"])


def save_model(model: RQVAE, folder: Path) -> Path:
    """Write a model's weights, with its settings in the header and beside it as JSON."""
    about = {"dim": model.dim, "config": model.config.as_dict()}
    tree = {f"tree.{level}": keys for level, keys in enumerate(model.tree)}
    _write({**model.state_dict(), **tree}, about, folder / _MODEL)
    write_json(about, folder / "model.json")
    return folder / _MODEL


def load_model(path: Path) -> RQVAE:
    """Read what :func:`save_model` wrote (the file, or its folder).

    Raises:
        InputError: if there is no such file or it is no model of ours.
    """
    path = path / _MODEL if path.is_dir() else path
    read = _read(path)
    if read is None or "config" not in read[1]:
        raise InputError("This is not a trained quantiser.", given=str(path))
    tensors, about = read
    known = {f.name for f in fields(RQVAEConfig)}
    config = RQVAEConfig(**{k: _tuples(v) for k, v in about["config"].items() if k in known})
    model = RQVAE(about["dim"], config)
    depth = sum(name.startswith("tree.") for name in tensors)
    model.tree = [tensors.pop(f"tree.{level}") for level in range(depth)]
    model.load_state_dict(tensors)
    return model.eval()


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _write(tensors: dict[str, Tensor], about: dict[str, Any], path: Path) -> None:
    with atomic_path(path) as temporary:
        contiguous = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
        save_file(contiguous, temporary, metadata={"json": to_json(about, indent=None)})


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Tensors and JSON of a file, or None if it is absent or damaged."""
    try:
        with safe_open(path, framework="pt") as stream:
            about = json.loads((stream.metadata() or {}).get("json", "{}"))
            names = stream.keys()
            return {name: stream.get_tensor(name) for name in names}, about
    except (OSError, SafetensorError, ValueError):
        return None
