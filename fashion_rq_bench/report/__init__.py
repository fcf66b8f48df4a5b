"""Results and editions shown: board, tables, plots, page.

Lives here: everything that is written for a reader. May import: ``evaluation``, ``people`` and
below. Must not import: commands.
"""
