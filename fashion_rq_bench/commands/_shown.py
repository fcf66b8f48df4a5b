"""What every verb shares: its outcome, how it is printed, and the options they all know.

In:  a :class:`Shown`.
Out: tables on standard output, or JSON with ``--json``; notes for the user on standard error.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fashion_rq_bench.errors import ConfigError
from fashion_rq_bench.schema.domain import enter, load_domain

if TYPE_CHECKING:
    from fashion_rq_bench.editions.edition import Edition

__all__ = ["DomainPath", "EditionPath", "Json", "Shown", "opened", "print_shown", "say"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
EditionPath = Annotated[
    str, typer.Option("--edition", help="Folder of an edition; without it the embedded mini.")
]

DomainPath = Annotated[
    str | None,
    typer.Option(
        "--domain", help="What is sold: fashion, or a TOML file; an edition knows it by itself."
    ),
]

_PIPED_WIDTH = 120
"""Columns of tables that go to a file or a pipe, where there is no terminal to ask."""


@dataclass
class Shown:
    """The outcome of a verb: rich renderables (or plain lines) and JSON-able data."""

    parts: list[Any] = field(default_factory=list)
    data: Any = None


def opened(edition: str, domain: str | None = None) -> Edition:
    """Open an edition; what it sells is in force until the verb ends.

    Raises:
        ConfigError: ``domain`` is given, and the edition is of another.
    """
    from fashion_rq_bench.editions.edition import Edition

    found = Edition.open(edition)
    if domain and load_domain(domain).digest != found.domain.digest:
        raise ConfigError(
            "The edition is of another domain than --domain says.",
            given=domain,
            allowed=[found.domain.name],
            fix="Leave --domain out: an edition knows its own.",
        )
    enter(found.domain)
    return found


def print_shown(shown: Shown, as_json: bool) -> None:
    """Print the parts for a person, or the data as JSON, on standard output."""
    if as_json:
        from fashion_rq_bench.support.files import to_json

        print(to_json(shown.data))
        return
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH)
    for part in shown.parts:
        console.print(part)


def say(text: str) -> None:
    """One line for the user on standard error, at once."""
    print(text, file=sys.stderr, flush=True)
