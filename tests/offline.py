"""A fresh interpreter in an empty folder that cannot open a connection."""

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


def run_offline(
    code: str, folder: Path, *, python: str = sys.executable, **environment: str
) -> str:
    """Run ``code`` with the working directory ``folder``; returns what it printed.

    Everything that Hugging Face keeps goes to ``folder`` too. Warnings are errors only if the code
    makes them so; an exit status other than 0 fails the test with standard error shown.
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
    done = subprocess.run(
        [python, str(script)],
        cwd=folder,
        env=inherited | home | environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
