"""Many results side by side: the board, its means, comparisons.

Lives here: reading results files and testing differences. May import: ``evaluation`` and below.
Must not import: tables, plots and pages.
"""
