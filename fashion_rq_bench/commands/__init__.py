"""The verbs of ``fashion-rq``, a module per group; ``cli.py`` puts them together."""
