"""Retrievers to score."""
