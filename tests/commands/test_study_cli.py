"""``fashion-rq study``: from pools of queries to the analysis, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fashion_rq_bench.cli import app
from fashion_rq_bench.errors import ConfigError, FashionRQError, InputError

LEVELS = {"RQBENCH": 5, "CHAT": 3, "LLM": 1}


@pytest.fixture
def pools(tmp_path: Path) -> list[str]:
    for name in LEVELS:
        lines = [f"{name.lower()} wants shirt {n}" for n in range(30)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    return [f"{name}={tmp_path / name}.txt" for name in LEVELS]


def call(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["study", *map(str, arguments)])
    if result.exception:
        raise result.exception
    return result.stdout


def answer(key: Path, folder: Path) -> None:
    """Four raters who see through the blinding; one writes a word where a number belongs."""
    study = json.loads(key.read_text(encoding="utf-8"))
    folder.mkdir()
    for rater in range(4):
        ratings = [
            {"id": hidden, "naturalness": LEVELS[source], "intent_clarity": LEVELS[source]}
            for hidden, source in zip(study["ids"], study["sources"], strict=True)
        ]
        ratings[rater]["naturalness"] = 4 if rater else "four [b]"
        content = {
            "format": "fashion-rq-ratings/1",
            "study": study["study_id"],
            "rater": f"r{rater}",
            "ratings": ratings,
        }
        (folder / f"{rater}.json").write_text(json.dumps(content), encoding="utf-8")


def test_from_pools_to_analysis(pools: list[str], tmp_path: Path) -> None:
    key, page = tmp_path / "key.json", tmp_path / "rate.html"
    told = json.loads(call("sample", *pools, "--key", key, "--page", page, "--json"))
    assert told["queries"] == 60
    assert call("sample", *pools, "--key", key).startswith("Key:")  # the same draw: the same key
    first = page.read_bytes()
    call("page", key, "--out", page)
    assert page.read_bytes() == first
    assert "RQBENCH" not in page.read_text(encoding="utf-8")
    answer(key, tmp_path / "back")
    report, plot = tmp_path / "study.md", tmp_path / "study.svg"
    text = call("analyse", key, tmp_path / "back", "--out", report, "--plot", plot)
    assert "4 raters, 60 queries; 1 unparseable" in text
    assert "'four [b]'" in text  # no markup, though it looks like it
    assert report.read_text(encoding="utf-8").splitlines()[0] in text
    assert b"<svg" in plot.read_bytes()
    found = json.loads(call("analyse", key, tmp_path / "back", "--json"))
    clarity = next(one for one in found["scales"] if one["scale"] == "intent_clarity")
    assert {one["source"]: one["mean"] for one in clarity["means"]} == LEVELS
    assert all(one["significant"] for one in clarity["comparisons"])
    assert found["unparseable"][0][0] == "r0"
    by_rating = json.loads(call("analyse", key, tmp_path / "back", "--unit", "rating", "--json"))
    assert by_rating["scales"][0]["means"][0]["n"] in (79, 80)


def test_what_is_refused(pools: list[str], tmp_path: Path) -> None:
    key, other = tmp_path / "key.json", tmp_path / "other.json"
    call("sample", *pools, "--key", key)
    (tmp_path / "empty").mkdir()
    for arguments, kind, message in (
        (("sample", *pools[:2], "--key", key), InputError, "another study's key"),
        (("sample", "CHAT", "--key", other), ConfigError, "NAME=PATH"),
        (("sample", pools[0], pools[0], "--key", other), ConfigError, "one name"),
        (("sample", *pools, "--key", other, "--per-source", 31), InputError, "too few"),
        (("page", other), InputError, "cannot be read"),
        (("analyse", key, tmp_path / "empty"), InputError, "no .json"),
        (("analyse", key, key), InputError, "another kind"),
    ):
        with pytest.raises(kind, match=message):
            call(*arguments)
    assert not other.exists()
    answer(key, tmp_path / "back")
    for more in (("--unit", "rater"), ("--level", 2), ("--plot", "study.bmp")):
        with pytest.raises(FashionRQError):
            call("analyse", key, tmp_path / "back", *more)


def test_console_script_prints_one_paragraph_for_a_mistake(tmp_path: Path) -> None:
    script = Path(sys.executable).parent / "fashion-rq"
    command = [str(script) if script.is_file() else sys.executable]
    command += [] if script.is_file() else ["-m", "fashion_rq_bench"]
    found = subprocess.run(
        [*command, "study", "page", str(tmp_path / "none.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 3
    assert found.stderr.count("\n") == 1
    assert "none.json" in found.stderr
