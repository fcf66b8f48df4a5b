"""Models that turn text and pictures into vectors, by name, safely, and what they return kept.

Lives here: loading, identity and caching of models. May import: ``schema``, ``support``.
Must not import: editions, retrievers, evaluation.
"""
