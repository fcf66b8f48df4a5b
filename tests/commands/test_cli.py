"""The command line: bad input gives one paragraph and a code; the README's commands exist."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cli import fails, run
from helpers.paths import ROOT

GROUPS = {"mteb", "review", "study", "weights"}
"""Verbs that have verbs of their own."""

SHORT_CSV = "id,name,kind\n" + "".join(f"{i},Red shirt {i},Shirts\n" for i in range(30))


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("", [], ["empty"]),
        ("id,name,kind\n", [], ["no products"]),
        (SHORT_CSV, ["--map", "titel=name"], ["titel", "title"]),
        (SHORT_CSV, ["--map", "title=nam"], ["nam", "name"]),
        (SHORT_CSV.replace("29,", "28,", 1), [], ["28", "duplicate_ids"]),
        (SHORT_CSV.replace("Shirts", ""), ["--map", "article_type=kind"], ["article type"]),
        (SHORT_CSV, ["--map", "article_type=kind"], ["30", "at least"]),
    ],
    ids=["empty", "header only", "target", "source", "duplicate ids", "no types", "thirty"],
)
def test_bad_catalogs(tmp_path, content, options, words):
    path = tmp_path / "shop.csv"
    path.write_text(content, encoding="utf-8")
    options = [*options, "--map", "title=name"] if "--map" not in " ".join(options) else options
    result = run("build", "--catalog", str(path), "--out", str(tmp_path / "out"), *options)
    fails(result, 3, *words)
    left = [item.name for item in (tmp_path / "out").glob("*")]
    assert left in ([], [".work"])
    assert not list((tmp_path / "out").rglob("*.tmp"))


def test_a_missing_catalog(tmp_path):
    fails(run("build", "--catalog", str(tmp_path / "no.csv"), "--out", str(tmp_path)), 3, "no.csv")


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc").is_dir(), reason="needs /proc")
def test_a_read_only_output_folder():
    result = run("build", "--catalog", "synthetic:500", "--out", "/proc/edition")
    fails(result, 3, "/proc/edition", "--out")


def test_unknown_names_come_with_the_nearest(tmp_path):
    out = ["--catalog", "synthetic:500", "--out", str(tmp_path)]
    fails(run("build", *out, "--config", "myntra-417"), 3, "myntra-416")
    fails(run("build", *out, "--set", "rqvae.epoch=3"), 3, "epochs")
    fails(run("evaluate", "bm26"), 3, "bm25")
    fails(run("describe", "--edition", str(tmp_path)), 6, str(tmp_path))


def test_wrong_usage_is_2():
    assert run("bild").returncode == 2
    assert run("build").returncode == 2
    assert run("demo", "--rows", "30").returncode == 2


def test_errors_as_json():
    result = run("describe", "--edition", "no-such-edition", "--json")
    assert json.loads(result.stdout)["exit_code"] == result.returncode == 6


def test_doctor_as_json():
    found = json.loads(run("doctor", "--json").stdout)
    assert {"extra", "package", "version", "get"} <= found["packages"][0].keys()


def test_help_starts_fast_and_imports_nothing_heavy():
    code = "import sys, fashion_rq_bench.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"torch", "mteb", "datasets", "evaluate", "sklearn", "pyarrow"} & set(loaded)


def documented() -> list[str]:
    lines = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        lines += re.findall(r"^\s*(?:\$ )?(fashion-rq [^#\n]*)", text, flags=re.MULTILINE)
    return lines


def test_every_documented_command_and_option_exists():
    known: dict[str, str] = {}
    for line in documented():
        words = line.split()
        verb = " ".join(words[1:3] if words[1] in GROUPS else words[1:2])
        if verb not in known:
            known[verb] = run(*verb.split(), "--help").stdout
        assert "Usage" in known[verb], line
        for option in re.findall(r"(?<!\S)(--[a-z-]+)", line):
            assert option in known[verb], f"{option} in: {line}"
    assert {"build", "evaluate", "describe", "show"} <= known.keys()


def test_the_version_is_told():
    from fashion_rq_bench import __version__

    assert run("--version").stdout.strip() == __version__


def test_a_map_without_a_column_says_what_it_takes():
    result = run("build", "--catalog", "shop.csv", "--out", "out", "--map", "title")
    fails(result, 3, "OURS=THEIRS", "title")


def test_a_report_never_replaces_an_editions_own(tmp_path):
    (tmp_path / "edition.json").write_text("{}", encoding="utf-8")
    result = run("report", "--edition", "mini", "--out", str(tmp_path))
    fails(result, 3, "is an edition", str(tmp_path / "report"))
