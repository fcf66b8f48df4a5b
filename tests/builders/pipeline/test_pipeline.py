"""The whole build: same bytes twice, after any kill, from a reused edition; refusals."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fashion_rq_bench.builders.pipeline.run import STAGES, BuildConfig, build
from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.errors import BuildError, ConfigError, InputError
from fashion_rq_bench.support.files import read_json

QUICK = {
    "name": "quick",
    "embedding": {"encoder": "lsa", "dim": 64},
    "rqvae": {"epochs": 4, "min_steps": 60, "min_perplexity": 0.0, "min_coverage": 0.0},
    "tasks": {"max_anchors": 12},
}


def files(folder: Path) -> dict[str, str]:
    """SHA-256 of every file an edition consists of."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".work" not in path.parts
    }


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("edition") / "quick"
    build("synthetic:900", out, BuildConfig.from_mapping(QUICK))
    return out


def test_an_edition_comes_out_whole(built):
    edition = Edition.open(built)
    edition.verify()
    assert edition.num_rows("corpus") == 900
    assert edition.num_rows("ranking") > 0
    report = read_json(built / "catalog_report.json")
    assert report["read"] + report["quarantined"] == report["input"] == 900


def test_a_second_run_does_nothing(built):
    before = files(built)
    result = build("synthetic:900", built, BuildConfig.from_mapping(QUICK))
    assert all(run.reused for run in result.runs)
    assert files(built) == before


def test_a_deleted_file_is_written_again(built):
    before = files(built)
    (built / "ranking" / "test-00000-of-00001.parquet").unlink()
    result = build("synthetic:900", built, BuildConfig.from_mapping(QUICK))
    assert [run.name for run in result.runs if not run.reused] == ["edition"]
    assert files(built) == before


def test_until_stops_early_and_leaves_no_edition(tmp_path):
    result = build("synthetic:600", tmp_path, BuildConfig.from_mapping(QUICK), until="embedding")
    assert [run.name for run in result.runs] == ["catalog", "embedding"]
    assert result.edition_id is None
    assert files(tmp_path) == {}


def test_reusing_an_edition_gives_the_same_bytes(built, tmp_path):
    values = {**QUICK, "reuse": str(built)}
    result = build("synthetic:900", tmp_path / "again", BuildConfig.from_mapping(values))
    assert result.edition_id == Edition.open(built).id
    assert files(tmp_path / "again") == files(built)


def test_an_edition_names_no_path_of_the_machine(built):
    for path in built.rglob("*.json"):
        if ".work" not in path.parts:
            assert str(built.parent) not in path.read_text(encoding="utf-8")


def test_the_seed_reaches_every_section():
    config = BuildConfig.from_mapping({"seed": 7, "tasks": {"seed": 3}})
    assert config.rqvae.seed == config.embedding.seed == config.catalog.seed == 7
    assert config.tasks.seed == 3


def test_a_language_model_is_reached_through_the_configuration(monkeypatch):
    monkeypatch.setenv("FASHION_RQ_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    values = {"queries": {"generator": "llm"}, "llm": {"model": "small"}}
    config = BuildConfig.from_mapping(values)
    assert (config.llm.model, config.llm.base_url) == ("small", "http://127.0.0.1:9/v1")
    with pytest.raises(ConfigError, match="grammar"):
        BuildConfig.from_mapping({"queries": {"generator": "gramar"}})


@pytest.mark.parametrize("name", ["mini", "myntra", "myntra-416"])
def test_shipped_configurations_are_valid(name):
    assert BuildConfig.from_mapping(BuildConfig.preset(name)).name == name


def test_refusals(tmp_path):
    with pytest.raises(ConfigError, match="myntra-416"):
        BuildConfig.preset("myntra-417")
    with pytest.raises(ConfigError, match="hierarchy"):
        build("synthetic:600", tmp_path, BuildConfig(), until="hierachy")


def test_two_builds_do_not_share_a_folder(tmp_path):
    from filelock import FileLock

    work = tmp_path / ".work"
    work.mkdir()
    with FileLock(work / "lock"), pytest.raises(BuildError, match="Another build"):
        build("synthetic:600", tmp_path, BuildConfig())


def test_an_output_that_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        build("synthetic:600", tmp_path / "file" / "out", BuildConfig())


def command(out: Path) -> list[str]:
    settings = [
        "embedding.dim=64",
        "rqvae.epochs=6",
        "rqvae.min_steps=200",
        "rqvae.min_perplexity=0.0",
        "rqvae.min_coverage=0.0",
        "tasks.max_anchors=20",
    ]
    flags = [item for setting in settings for item in ("--set", setting)]
    program = [sys.executable, "-m", "fashion_rq_bench", "build"]
    return [*program, "--catalog", "synthetic:2000", "--out", str(out), *flags]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_killed_in_any_stage_and_run_again_gives_the_same_files(tmp_path):
    """kill -9 at the start of each stage in turn, then let it finish (2,000 rows)."""
    plain = tmp_path / "plain"
    subprocess.run(command(plain), check=True, capture_output=True)
    out = tmp_path / "killed"
    for stage in STAGES:
        kill_in(stage, command(out))
    finished = subprocess.run(command(out), check=True, capture_output=True, text=True)
    assert "catalog: already done" in finished.stderr
    assert files(out) == files(plain)


def kill_in(stage: str, arguments: list[str]) -> None:
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, env=os.environ)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(f"{stage} ..."):
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    process.stderr.close()
    assert process.returncode == -signal.SIGKILL
