"""Whether a catalog's photos are there and whole.

In:  a catalog and the folder its ``image`` paths are relative to.
Out: product ids whose photo is missing, and whose photo is broken.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import pyarrow as pa

from fashion_rq_bench.support.optional import require

__all__ = ["check_images"]

_TAIL = 4096


def check_images(catalog: pa.Table, folder: Path) -> tuple[list[str], list[str]]:
    """Ids of products with a missing photo, and with a corrupt one, in the catalog's order.

    A photo without a path, outside ``folder`` or not there is missing; one that Pillow cannot
    verify (its structure, without decoding the pixels) is corrupt, and so is a JPEG cut short.

    Raises:
        MissingDependencyError: if Pillow is not installed.
    """
    require("PIL.Image", "build")
    root = folder.resolve()
    paths = catalog["image"].to_pylist()
    with ThreadPoolExecutor() as pool:
        states = list(pool.map(lambda path: _state(root, path), paths))
    ids = catalog["product_id"].to_pylist()
    missing = [name for name, state in zip(ids, states, strict=True) if state == "missing"]
    corrupt = [name for name, state in zip(ids, states, strict=True) if state == "corrupt"]
    return missing, corrupt


def _state(root: Path, relative: str | None) -> Literal["missing", "corrupt", "whole"]:
    from PIL import Image, UnidentifiedImageError

    path = (root / relative).resolve() if relative else root
    if not path.is_relative_to(root) or not path.is_file():
        return "missing"
    try:
        with Image.open(path) as image:
            image.verify()
            cut = image.format == "JPEG" and not _ends(path)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return "corrupt"
    return "corrupt" if cut else "whole"


def _ends(path: Path) -> bool:
    """Whether a JPEG's end-of-image marker stands near the end; Pillow's verify does not look."""
    with path.open("rb") as stream:
        stream.seek(max(path.stat().st_size - _TAIL, 0))
        return b"\xff\xd9" in stream.read()
