"""Does a query say what it should? Verifier, parser, grounding, steering text, quality.

Lives here: judging queries. May import: ``grammar``, ``say``, relevance.
Must not import: the language model.
"""
