"""Stages: kept when nothing changed, redone when something did, never half-done."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from fashion_rq_bench.builders.pipeline.code_digest import code_digest
from fashion_rq_bench.builders.pipeline.stages import Stage, Workshop

MODULE = "fashion_rq_bench.builders.pipeline.stages"


@dataclass(frozen=True)
class Config:
    value: int = 1


def stage(name="one", needs=(), config=None, fill=None, fingerprint=""):
    def write(inputs, out):
        text = "".join((folder / "f").read_text(encoding="utf-8") for folder in inputs.values())
        (out / "f").write_text(name + text, encoding="utf-8")

    return Stage(name, MODULE, needs, config or Config(), fill or write, fingerprint)


def test_a_finished_stage_is_reused(tmp_path):
    first = Workshop(tmp_path).run(stage())
    second = Workshop(tmp_path).run(stage())
    assert (first.reused, second.reused) == (False, True)
    assert first.folder == second.folder


@pytest.mark.parametrize("change", [{"config": Config(2)}, {"fingerprint": "other file"}])
def test_a_change_redoes_the_stage_and_those_after_it(tmp_path, change):
    before = Workshop(tmp_path)
    before.run(stage())
    before.run(stage("two", ("one",)))
    after = Workshop(tmp_path)
    assert not after.run(stage(**change)).reused
    assert not after.run(stage("two", ("one",))).reused


def test_a_killed_stage_leaves_no_folder_and_runs_again(tmp_path):
    def killed(inputs, out):
        (out / "f").write_text("half", encoding="utf-8")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Workshop(tmp_path).run(stage(fill=killed))
    assert list(tmp_path.iterdir()) == []
    # kill -9 leaves the temporary folder behind; the next run starts from an empty one
    leftover = tmp_path / f"one-{Workshop(tmp_path).key(stage())[:16]}.tmp"
    leftover.mkdir()
    (leftover / "stale").write_text("x", encoding="utf-8")
    run = Workshop(tmp_path).run(stage())
    assert not (run.folder / "stale").exists()


def test_the_code_digest_covers_what_a_module_imports(monkeypatch):
    import fashion_rq_bench.builders.pipeline.code_digest as code

    whole = code_digest.__wrapped__(MODULE)
    real = code._source

    def changed(name):
        source = real(name)
        return (
            source + b"# changed" if name == "fashion_rq_bench.support.files" and source else source
        )

    monkeypatch.setattr(code, "_source", changed)
    assert code_digest.__wrapped__(MODULE) != whole
    assert code_digest.__wrapped__("fashion_rq_bench.errors") == code_digest(
        "fashion_rq_bench.errors"
    )
