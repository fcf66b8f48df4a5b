"""The ``fashion-rq`` command.

In:  a verb, its options, the user's files.
Out: tables on standard output (JSON with ``--json``), progress on standard error, files.

Exit codes: 0 done; 1 a bug of ours; 2 wrong usage; 3 input that cannot be used; 4 a missing extra;
5 a build whose result must not ship; 6 an unusable edition; 7 a model that failed; 130 interrupted.
A user's mistake gives one paragraph and no traceback. Heavy modules are imported inside the verbs.
"""

from __future__ import annotations

import json
import signal
import sys
from contextvars import copy_context
from types import FrameType
from typing import Annotated

import typer

from fashion_rq_bench._version import __version__
from fashion_rq_bench.commands import (
    build,
    compare,
    editions,
    environment,
    evaluate,
    models,
    mteb,
    report,
    review,
    study,
    weights,
)
from fashion_rq_bench.errors import FashionRQError, InputError

__all__ = ["app", "main"]

app = typer.Typer(
    name="fashion-rq",
    help="Build fashion-retrieval benchmarks from a catalog, and score retrievers on them.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


build.register(app)
evaluate.register(app)
mteb.register(app)
models.register(app)
compare.register(app)
report.register(app)
editions.register(app)
environment.register(app)
weights.register(app)
study.register(app)
review.register(app)


def _fail(problem: str, code: int) -> int:
    if "--json" in sys.argv:
        print(json.dumps({"error": problem, "exit_code": code}, ensure_ascii=False))
    else:
        print(f"Error: {problem}", file=sys.stderr)
    return code


class _Interrupted(BaseException):
    """Ctrl-C. Not a KeyboardInterrupt, which typer would turn into exit code 1."""


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    raise _Interrupted


def main() -> None:
    """Run the command; turn every user's mistake into one paragraph and an exit code."""
    signal.signal(signal.SIGINT, _interrupt)
    try:
        copy_context().run(app)  # a verb puts its edition's domain in force until it ends
    except FashionRQError as error:
        sys.exit(_fail(str(error), error.exit_code))
    except _Interrupted:
        text = "Interrupted. Finished work is kept: run the same command again to go on."
        sys.exit(_fail(text, 130))
    except BrokenPipeError:  # the reader of our output has gone, e.g. `head`
        sys.stderr.close()
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        text = f"The system refused: {error.strerror or error}{where}."
        sys.exit(_fail(text, InputError.exit_code))
