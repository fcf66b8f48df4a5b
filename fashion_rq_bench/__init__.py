"""Build fashion-retrieval benchmarks from a product catalog, and score retrievers on them."""

from __future__ import annotations

__version__ = "0.1.0"
