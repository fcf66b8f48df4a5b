"""A fresh interpreter in a folder of its own, which cannot open a connection."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CUT = """
import socket
def _refuse(*_args, **_options):
    raise AssertionError("a connection was tried")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = _refuse
"""


def launch(
    code: str, folder: Path, *, python: Path | str = sys.executable, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run ``code`` as a script, with the working directory ``folder``.

    Nothing of this process's environment that bears on the outcome is passed on, and everything
    that Hugging Face keeps goes to a folder beside ``folder``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    script = folder.parent / f"{folder.name}.py"
    script.write_text(CUT + code, encoding="utf-8")
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HF_", "FASHION_RQ", "PYTHON"))
    }
    home = {"HF_HOME": str(folder.parent / "hf"), "HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        [str(python), str(script)],
        cwd=folder,
        env=inherited | home | environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def run_offline(
    code: str, folder: Path, *, python: Path | str = sys.executable, **environment: str
) -> str:
    """What :func:`launch` printed; fails with standard error if the exit status is not 0."""
    done = launch(code, folder, python=python, **environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
