"""Uploads to a stand-in for the Hub, and what is read back from it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from helpers.hub_stub import TOKEN, HubStub, serving
from helpers.tiny import tiny_tables, write_tiny
from huggingface_hub import constants

from fashion_rq_bench.builders.edition import write as writer
from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.errors import ConfigError, EditionError, FashionRQError
from fashion_rq_bench.hub import publish as publishing
from fashion_rq_bench.hub.publish import publish, publish_metric

REPO = "me/tiny"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubStub]:
    with serving(tmp_path / "hub") as stub:
        monkeypatch.setattr(constants, "ENDPOINT", stub.url)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield stub
        huggingface_hub.close_session()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny(folder)
    (folder / ".work").mkdir()
    (folder / ".work" / "key.txt").write_text("not for others", encoding="utf-8")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    return Edition.open(folder)


def listed(edition: Edition) -> dict[str, bytes]:
    names = [*edition.manifest["files"], "edition.json"]
    return {name: (edition.path / name).read_bytes() for name in names}


def test_an_edition_is_uploaded_whole_and_nothing_else(tiny: Edition, hub: HubStub) -> None:
    address = publish(tiny, REPO, token=TOKEN)
    assert address == f"{hub.url}/datasets/{REPO}"
    assert hub.files("datasets", REPO) == listed(tiny)
    publish(tiny, REPO, token=TOKEN)
    assert hub.files("datasets", REPO) == listed(tiny)


def test_shards_of_the_edition_before_are_removed(
    tiny: Edition, hub: HubStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(writer, "_SHARD_BYTES", 4_000)
        write_tiny(tmp_path / "sharded")
    publish(Edition.open(tmp_path / "sharded"), REPO, token=TOKEN)
    assert len(hub.files("datasets", REPO)) > len(listed(tiny))
    publish(tiny, REPO, token=TOKEN)
    assert hub.files("datasets", REPO) == listed(tiny)


def test_a_changed_edition_is_not_uploaded(tiny: Edition, hub: HubStub, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny.path, tmp_path / "copy")
    (folder / "README.md").write_text("other", encoding="utf-8")
    with pytest.raises(EditionError, match=r"README\.md"):
        publish(Edition.open(folder), REPO, token=TOKEN)
    assert hub.requests == []


def test_a_refused_token_is_not_shown(
    tiny: Edition, hub: HubStub, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    wrong = "hf_a_wrong_token_that_must_not_be_shown"
    with caplog.at_level("DEBUG"), pytest.raises(FashionRQError, match="401") as caught:
        publish(tiny, REPO, token=wrong)
    out, err = capfd.readouterr()
    for text in (str(caught.value), repr(caught.value.__context__), out, err):
        assert wrong not in text
    ours = [record.getMessage() for record in caplog.records if "fashion" in record.name]
    assert wrong not in " ".join(ours)


def test_an_answer_that_repeats_the_token_is_cleaned() -> None:
    def refuse() -> None:
        raise OSError("token abc123 is bad")

    with pytest.raises(FashionRQError, match=r"token \(token\) is bad") as caught:
        publishing._asked(refuse, REPO, "abc123")
    assert "abc123" not in str(caught.value)


@pytest.mark.parametrize("repo", ["a/b/c", "bad name", ""])
def test_a_bad_repository_name_is_one_paragraph(tiny: Edition, hub: HubStub, repo: str) -> None:
    with pytest.raises(FashionRQError, match="owner/name"):
        publish(tiny, repo, token=TOKEN)


def test_no_hub_is_one_paragraph(
    tiny: Edition, hub: HubStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    huggingface_hub.close_session()
    with pytest.raises(FashionRQError, match=r"did not take the upload.*offline"):
        publish(tiny, REPO, token=TOKEN)


def test_a_metric_becomes_a_space(
    hub: HubStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "one"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "__pycache__" / "one.pyc").write_bytes(b"")
    for name in ("one.py", "app.py", "README.md", "requirements.txt"):
        (folder / name).write_text(name, encoding="utf-8")
    monkeypatch.setattr(publishing, "metric_folders", lambda: {"one": folder})
    assert publish_metric("one", "me/one", token=TOKEN) == f"{hub.url}/spaces/me/one"
    uploaded = hub.files("spaces", "me/one")
    assert set(uploaded) == {"one.py", "app.py", "README.md", "requirements.txt"}
    with pytest.raises(ConfigError, match="Did you mean 'one'"):
        publish_metric("ones", "me/one", token=TOKEN)


READ = """
import json
from datasets import get_dataset_config_names, load_dataset
names = get_dataset_config_names("me/tiny")
rows = {name: load_dataset("me/tiny", name, split="test").num_rows for name in names}
streamed = list(load_dataset("me/tiny", "corpus", split="test", streaming=True))
print(json.dumps([rows, len(streamed)]))
"""


@pytest.mark.slow
def test_what_was_published_loads_from_the_hub(tiny: Edition, hub: HubStub, tmp_path: Path) -> None:
    publish(tiny, REPO, token=TOKEN)
    environment: dict[str, Any] = {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(tmp_path / "home"),
        "HF_TOKEN": TOKEN,
        "HF_HUB_DISABLE_XET": "1",
        "PATH": "",
    }
    done = subprocess.run(
        [sys.executable, "-c", READ], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows, streamed = json.loads(done.stdout.splitlines()[-1])
    assert rows == {name: table.num_rows for name, table in tiny_tables().items()}
    assert streamed == 48
