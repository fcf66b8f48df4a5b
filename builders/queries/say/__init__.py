"""What a query says before a word is chosen: evidence, wishes, plans; and the lexicon.

Lives here: choosing wishes. May import: context, ``words``.
Must not import: the grammar, the language model, the checks.
"""
