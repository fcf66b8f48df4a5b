"""Every error that a user of this package can cause, as one tree.

In:  what went wrong, what was given, what is allowed, what to do next.
Out: one exception whose text is a readable paragraph. The CLI prints that paragraph
     and exits with the class's ``exit_code``; it never shows a traceback for these.

::

    FashionRQError
    ├── InputError (ValueError)       what the user handed in cannot be used          exit 3
    │   ├── CatalogError              a catalog, its column map or its values
    │   ├── ConfigError               a setting, in a file or on the command line
    │   └── MetricInputError          scores, grades, products or intents of a metric
    ├── MissingDependencyError (ImportError)   an extra is not installed              exit 4
    ├── BuildError                    a stage ran and its result must not be shipped  exit 5
    │   └── QualityError              a quality floor was missed
    ├── EditionError                  a built edition is missing, broken or foreign   exit 6
    └── ModelError                    a retriever or encoder failed                   exit 7
        └── LLMError                  a language-model endpoint failed or overspent
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "BuildError",
    "CatalogError",
    "ConfigError",
    "EditionError",
    "FashionRQError",
    "InputError",
    "LLMError",
    "MetricInputError",
    "MissingDependencyError",
    "ModelError",
    "QualityError",
    "nearest",
]


def nearest(given: str, allowed: Iterable[str]) -> str | None:
    """Closest allowed name to ``given`` (case-insensitive), or None if none is close."""
    names = {name.casefold(): name for name in allowed}
    close = difflib.get_close_matches(given.casefold(), names, n=1, cutoff=0.6)
    return names[close[0]] if close else None


class FashionRQError(Exception):
    """Base class: a problem, and if known what was given, what is allowed, what to do next.

    Args:
        problem: one sentence saying what is wrong.
        given: the offending value; with ``allowed`` also used for a "did you mean".
        allowed: the values that would have been accepted (the first 12 are shown).
        fix: the next step, a command where there is one.
    """

    exit_code = 1

    def __init__(
        self,
        problem: str,
        *,
        given: object = None,
        allowed: Iterable[object] | None = None,
        fix: str | None = None,
    ) -> None:
        self.problem = problem
        self.given = given
        self.allowed = [str(value) for value in allowed] if allowed is not None else None
        self.fix = fix
        super().__init__(self._paragraph())

    def _paragraph(self) -> str:
        parts = [self.problem.rstrip()]
        if self.given is not None:
            parts.append(f"Given: {self.given!r}.")
        if self.allowed is not None:
            shown = ", ".join(self.allowed[:12]) + (", …" if len(self.allowed) > 12 else "")
            parts.append(f"Allowed: {shown or 'nothing'}.")
            match = nearest(str(self.given), self.allowed) if self.given is not None else None
            if match is not None and match != self.given:
                parts.append(f"Did you mean {match!r}?")
        if self.fix is not None:
            parts.append(self.fix)
        return " ".join(parts)


class InputError(FashionRQError, ValueError):
    """What the user handed in cannot be used."""

    exit_code = 3


class CatalogError(InputError):
    """A catalog file, its column map or its values cannot be used."""


class ConfigError(InputError):
    """A setting is unknown or out of range."""


class MetricInputError(InputError):
    """Scores, grades, products or intents handed to a metric cannot be used."""


class MissingDependencyError(FashionRQError, ImportError):
    """An optional dependency is not installed; the text carries the install command."""

    exit_code = 4


class BuildError(FashionRQError):
    """A stage finished, but its result must not become an edition."""

    exit_code = 5


class QualityError(BuildError):
    """A quality floor (perplexity, coverage, ...) was missed."""


class EditionError(FashionRQError):
    """An edition is missing, incomplete, or written under another schema version."""

    exit_code = 6


class ModelError(FashionRQError):
    """A retriever or encoder failed or returned something unusable."""

    exit_code = 7


class LLMError(ModelError):
    """A language-model endpoint failed, or the budget is spent."""
