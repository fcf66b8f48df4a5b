"""Run mypy over the package as it is installed.

``builders/`` and ``metrics/`` live beside the package and are installed inside it, so mypy gets a
folder of symbolic links that shows the installed layout. Extra arguments go to mypy.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VIEW = ROOT / "build" / "typecheck" / "fashion_rq_bench"


def main() -> int:
    VIEW.mkdir(parents=True, exist_ok=True)
    for old in VIEW.iterdir():
        old.unlink()
    for entry in (ROOT / "fashion_rq_bench").iterdir():
        (VIEW / entry.name).symlink_to(entry)
    for name in ("builders", "metrics"):
        (VIEW / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "mypy", "-p", "fashion_rq_bench", *sys.argv[1:]]
    config = ["--config-file", str(ROOT / "pyproject.toml")]
    environment = os.environ | {"MYPYPATH": str(VIEW.parent)}
    return subprocess.call([*command, *config], cwd=VIEW.parent, env=environment)


if __name__ == "__main__":
    sys.exit(main())
