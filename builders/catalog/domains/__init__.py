"""What only one domain's catalogs have: the made catalog of fashion, drawn by a seed.

Lives here: a room per domain. May import: the catalog's reader and values.
Must not import: the stages after the catalog.
"""
