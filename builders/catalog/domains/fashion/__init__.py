"""The made catalog: products drawn from word lists by a seed, with planted attributes.

Lives here: drawing. May import: the catalog's reader and values.
Must not import: the stages after the catalog.
"""
