"""Catalog readers."""
