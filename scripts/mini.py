"""Rebuild the embedded mini edition from the synthetic catalog, by the very pipeline users run.

Without options the semantic IDs and string vectors of the committed edition are taken over, so that
the same bytes come out on any machine. ``--learn`` learns the hierarchy anew (same bytes on one
machine only); ``--check`` builds into a temporary folder and compares instead of replacing.
"""

from __future__ import annotations

import argparse
import filecmp
import shutil
import sys
import tempfile
from pathlib import Path

import fashion_rq_bench
from fashion_rq_bench.builders.pipeline.run import BuildConfig, build

SOURCE = "synthetic:3000"
MINI = Path(fashion_rq_bench.__file__).resolve().parent / "data" / "mini"
LIMIT = 8 * 2**20


def rebuild(out: Path, *, learn: bool) -> str:
    """Build mini into ``out`` and return the edition's id."""
    values = dict(BuildConfig.preset("mini"))
    if not learn:
        values["reuse"] = str(MINI)
    config = BuildConfig.from_mapping(values)
    result = build(SOURCE, out, config, report=lambda name, run: print(name, "done" if run else ""))
    return str(result.edition_id)


def files(folder: Path) -> dict[str, Path]:
    """Relative name to path of an edition's files."""
    every = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path for name, path in every.items() if not name.startswith(".work")}


def differences(left: Path, right: Path) -> list[str]:
    """Names of files that are not byte for byte the same in both editions."""
    ours, theirs = files(left), files(right)
    alike = {
        name
        for name in ours.keys() & theirs.keys()
        if filecmp.cmp(ours[name], theirs[name], shallow=False)
    }
    return sorted((ours.keys() | theirs.keys()) - alike)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learn", action="store_true", help="learn the semantic IDs anew")
    parser.add_argument("--check", action="store_true", help="compare, do not replace")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "mini"
        edition = rebuild(out, learn=options.learn)
        shutil.rmtree(out / ".work")
        size = sum(path.stat().st_size for path in files(out).values())
        changed = differences(out, MINI)
        print(f"mini {edition[:16]}: {size / 2**20:.2f} MB, {len(changed)} files differ", *changed)
        if size > LIMIT:
            print(f"Too large for the wheel: at most {LIMIT / 2**20:.0f} MB.")
            return 1
        if options.check:
            return 1 if changed else 0
        shutil.rmtree(MINI, ignore_errors=True)
        shutil.copytree(out, MINI)
    return 0


if __name__ == "__main__":
    sys.exit(main())
