"""The version of this package, where every room can read it: the package itself stands above them.

Out: ``__version__``, also public as ``fashion_rq_bench.__version__``.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
