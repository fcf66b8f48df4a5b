"""Text to tokens and terms: folding, number, spellings, and finding a domain's words in a text.

Lives here: everything that looks at single words. May import: ``schema``, ``support``.
Must not import: measures and what stands above them.
"""
