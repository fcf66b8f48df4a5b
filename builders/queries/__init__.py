"""Queries from evidence."""
