"""Tables of editions, models and comparisons, for terminal, Markdown, LaTeX and CSV.

Lives here: what is laid out in rows. May import: the board and below.
Must not import: plots and pages.
"""
