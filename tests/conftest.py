"""Shared fixtures: the real catalog where it is present, and a place without network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_EVALUATE_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the real catalog (FASHION_RQ_SHARED, else ../shared beside the repo)."""
    shared = Path(os.environ.get("FASHION_RQ_SHARED", ROOT.parent / "shared")) / "data"
    if not (shared / "fashion-dataset" / "styles.csv").is_file():
        pytest.skip(f"the real Myntra catalog is not at {shared}; set FASHION_RQ_SHARED")
    return shared
