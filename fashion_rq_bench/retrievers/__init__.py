"""Retrievers to be scored: pool BM25, dense encoders, the random floor, the attribute oracle.

``encoders.py`` loads text encoders, ``vectors.py`` keeps what they return, ``registry.py`` finds a
retriever by name.
"""

from __future__ import annotations
