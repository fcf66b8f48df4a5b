"""What ranks: one family a file, and the registry that finds a retriever by name.

Lives here: lexical, dense, sparse, late-interaction, cross-encoder and hybrid retrievers, floor and
oracle. May import: ``editions``, ``encoders`` and below. Must not import: evaluation, reports.
"""
