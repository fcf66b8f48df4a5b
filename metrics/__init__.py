"""Modules for `evaluate`: one folder each, thin shells over the library."""
