"""Figures of an edition's queries, for ``queries.py``."""
