"""A built benchmark: reading it, its id, its pools, and how its own intents judge them.

Lives here: all that is known of an edition without a retriever. May import: ``encoders``,
``relevance`` and below. Must not import: retrievers, evaluation.
"""
