"""The quantiser: it learns, is deterministic, resumes to the same bytes, assigns in any chunks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from helpers.paths import ROOT
from sklearn.metrics import normalized_mutual_info_score

from fashion_rq_bench.builders.rqvae import (
    RQVAE,
    RQVAEConfig,
    assign,
    diagnose,
    label_columns,
    learn,
    semantic_ids,
)
from fashion_rq_bench.builders.rqvae.checkpoint import load_model, save_model
from fashion_rq_bench.builders.rqvae.config import paper_labels
from fashion_rq_bench.builders.rqvae.diagnostics import (
    check_floors,
    nmi,
    table,
    write_diagnostics,
)
from fashion_rq_bench.builders.rqvae.kmeans import residual_kmeans
from fashion_rq_bench.builders.rqvae.model import nearest_codes
from fashion_rq_bench.builders.rqvae.train import History, Run, resolve, step_loss
from fashion_rq_bench.builders.rqvae.tree import close_small_leaves, open_prefixes
from fashion_rq_bench.errors import BuildError, CatalogError, ConfigError, InputError, QualityError
from fashion_rq_bench.schema.tables import SEMANTIC_IDS, embeddings_schema
from fashion_rq_bench.support.files import read_json

TYPES, COLORS, GENDERS = 6, 4, 2
SMALL = RQVAEConfig(
    hidden=(32,), latent=8, codebook_size=8, epochs=6, min_steps=1, batch_size=128, held_out=0.1
)


def planted(rows: int = 600, noise: float = 0.05, seed: int = 0) -> tuple[np.ndarray, pa.Table]:
    """Vectors that are a sum of a type, a gender and a colour vector, and their catalog."""
    rng = np.random.default_rng(seed)
    kind, gender, color = (rng.integers(n, size=rows) for n in (TYPES, GENDERS, COLORS))
    parts = [
        rng.normal(size=(n, 24)) * scale for n, scale in ((TYPES, 1), (GENDERS, 0.6), (COLORS, 0.4))
    ]
    vectors = parts[0][kind] + parts[1][gender] + parts[2][color]
    vectors += noise * rng.normal(size=vectors.shape)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    catalog = pa.table(
        {
            "product_id": [f"p{row:05d}" for row in range(rows)],
            "master_category": [f"m{k // 3}" for k in kind],
            "article_type": [f"t{k}" for k in kind],
            "gender": [f"g{g}" for g in gender],
            "base_color": [f"c{c}" for c in color],
            "usage": pa.nulls(rows, pa.string()),
            "style": pa.array([[]] * rows, pa.list_(pa.string())),
        }
    )
    return vectors.astype(np.float32), catalog


def embeddings(vectors: np.ndarray, catalog: pa.Table) -> pa.Table:
    flat = pa.array(vectors.astype(np.float16).ravel())
    lists = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return pa.table(
        [catalog["product_id"].combine_chunks(), lists], schema=embeddings_schema(vectors.shape[1])
    )


def state(model: RQVAE) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(one: RQVAE, other: RQVAE) -> bool:
    return all(
        torch.equal(a, b) for a, b in zip(state(one).values(), state(other).values(), strict=True)
    )


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, pa.Table, list]:
    vectors, catalog = planted()
    return vectors, catalog, label_columns(catalog, SMALL.labels)


# --- the model ---------------------------------------------------------------------------------


def test_quantisation_follows_equation_2() -> None:
    model = RQVAE(
        4,
        RQVAEConfig(
            hidden=(), latent=2, levels=2, labels=((), ()), exclusivity=(0.0,), codebook_size=2
        ),
    )
    with torch.no_grad():
        model.codebooks[0].copy_(torch.tensor([[0.0, 0.0], [1.0, 1.0]]))
        model.codebooks[1].copy_(torch.tensor([[0.5, 0.0], [0.0, -0.5]]))
    found = model.quantise(torch.tensor([[1.4, 0.9], [0.0, -0.4]]))
    assert found.codes.tolist() == [[1, 0], [0, 1]]
    torch.testing.assert_close(found.residuals[1], torch.tensor([[0.4, -0.1], [0.0, -0.4]]))
    torch.testing.assert_close(sum(found.vectors), torch.tensor([[1.5, 1.0], [0.0, -0.5]]))


def test_ties_go_to_the_lowest_code() -> None:
    book = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    assert nearest_codes(torch.zeros(1, 2), book).tolist() == [0]


def test_loss_is_equation_3() -> None:
    """Reconstruction, codebook and commitment, each summed over dimensions, averaged over items."""
    config = replace(SMALL, exclusivity=(0.0,), beta=0.5)
    torch.manual_seed(0)
    model = RQVAE(6, config)
    for book in model.codebooks:
        torch.nn.init.normal_(book)
    batch = torch.randn(5, 6)
    loss, codes = step_loss(model, batch, [[], [], []])
    residual = model.encoder(batch)
    total, expected = torch.zeros_like(residual), torch.zeros(())
    for level, book in enumerate(model.codebooks):
        vector = book[codes[:, level]]
        expected = expected + 1.5 * (residual - vector).square().sum(1).mean()
        residual, total = residual - vector, total + vector
    expected = expected + (model.decoder(total) - batch).square().sum(1).mean()
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("gradient", ["codebook", "straight-through"])
def test_the_gradient_path_decides_what_the_exclusivity_loss_moves(gradient: str) -> None:
    def gradients(weight: float) -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(1)
        model = RQVAE(6, replace(SMALL, exclusivity=(weight,), gradient=gradient))
        for book in model.codebooks:
            torch.nn.init.normal_(book)
        y = torch.arange(40) % 3
        loss, _ = step_loss(model, torch.randn(40, 6), [[y], [y], [y]])
        loss.backward()
        return model.encoder[0].weight.grad, model.codebooks[0].grad

    (encoder_0, book_0), (encoder_1, book_1) = gradients(0.0), gradients(0.5)
    assert not torch.allclose(book_0, book_1)
    assert torch.allclose(encoder_0, encoder_1) == (gradient == "codebook")


# --- training ----------------------------------------------------------------------------------


def test_learns_a_planted_hierarchy(data) -> None:
    vectors, catalog, labels = data
    model = learn(vectors, labels, replace(SMALL, epochs=40))
    found = diagnose(_ids(catalog, assign(model, vectors)), catalog)
    leaf = found["levels"][2]
    assert leaf["qualifying"]["purity"] > 0.95
    assert leaf["coverage"] > 0.5
    assert leaf["attributes"]["base_color"]["qualifying"]["purity"] > 0.5  # four colours
    errors = [epoch["held_out_error"] for epoch in model.history]
    assert errors[-1] < errors[0]


def test_same_seed_same_bytes_other_seed_other_bytes(data) -> None:
    vectors, _, labels = data
    first, again = (learn(vectors, labels, SMALL) for _ in range(2))
    assert same(first, again)
    assert not same(first, learn(vectors, labels, replace(SMALL, seed=1)))
    assert not torch.are_deterministic_algorithms_enabled()


def test_global_random_state_does_not_matter(data) -> None:
    vectors, _, labels = data
    first = learn(vectors, labels, SMALL)
    torch.manual_seed(99)
    np.random.seed(99)
    assert same(first, learn(vectors, labels, SMALL))


@pytest.mark.parametrize("stop", [1, 2, 4])
def test_interrupted_and_resumed_is_identical(data, tmp_path: Path, stop: int, monkeypatch) -> None:
    vectors, _, labels = data
    whole = learn(vectors, labels, SMALL)
    step, left = Run._step, [stop * 4 + 2]

    def dying(run: Run, *args: object, **options: object) -> torch.Tensor:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return step(run, *args, **options)

    monkeypatch.setattr(Run, "_step", dying)
    with pytest.raises(KeyboardInterrupt):
        learn(vectors, labels, SMALL, checkpoint=tmp_path)
    monkeypatch.undo()
    resumed = learn(vectors, labels, SMALL, checkpoint=tmp_path)
    assert same(whole, resumed)
    assert resumed.history == whole.history


def test_the_state_of_another_run_is_not_resumed(data, tmp_path: Path) -> None:
    vectors, _, labels = data
    learn(vectors, labels, SMALL, checkpoint=tmp_path)
    other = replace(SMALL, seed=5)
    assert same(learn(vectors, labels, other, checkpoint=tmp_path), learn(vectors, labels, other))


def test_a_damaged_state_is_not_resumed(data, tmp_path: Path) -> None:
    vectors, _, labels = data
    (tmp_path / "state.safetensors").write_bytes(b"half a fi")
    assert same(learn(vectors, labels, SMALL, checkpoint=tmp_path), learn(vectors, labels, SMALL))


_SCRIPT = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}, {tests!r} + "/builders/rqvae"]
from test_rqvae import SMALL, label_columns, learn, planted, replace, save_model
vectors, catalog = planted()
config = replace(SMALL, epochs=60)
model = learn(vectors, label_columns(catalog, config.labels), config, checkpoint=Path(sys.argv[1]))
save_model(model, Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_killed_and_resumed_gives_the_same_file(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(_SCRIPT.format(tests=str(ROOT / "tests"))))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run([sys.executable, str(script), str(whole)], check=True, env=environment)
    process = subprocess.Popen([sys.executable, str(script), str(broken)], env=environment)
    deadline = time.monotonic() + 120
    while not (broken / "state.safetensors").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (broken / "model.safetensors").exists()
    subprocess.run([sys.executable, str(script), str(broken)], check=True, env=environment)
    assert (broken / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_small_catalogs_get_fewer_codes() -> None:
    config = RQVAEConfig()
    assert resolve(config, 44_446).codebook_size == 64
    assert resolve(config, 1_000).codebook_size == 10
    ratios = [a / b for a, b in zip(resolve(config, 1_000).weights, config.weights, strict=True)]
    assert ratios == pytest.approx([(10 / 64) ** 2] * 3)  # fewer codes, a gentler pull
    assert [resolve(config, rows).min_leaf for rows in (44_446, 10_000, 1_000)] == [5, 2, 1]
    assert resolve(replace(config, items_per_prefix=0), 1_000).codebook_size == 64
    with pytest.raises(InputError, match="at least"):
        resolve(config, 30)


def test_dead_codes_come_back(data) -> None:
    vectors, _, labels = data
    run = Run(torch.from_numpy(vectors), _tensors(labels), resolve(SMALL, 600), None)
    run._epoch(0)
    run._epoch(1)
    with torch.no_grad():
        run.model.codebooks[0][3:] += 100
    codes = run.model.codes(run.model.encoder(run.data))
    assert codes[:, 0].max() < 3
    run._revive(codes, epoch=1)
    assert len(run.model.codes(run.model.encoder(run.data))[:, 0].unique()) > 3
    assert not run.optimiser.state[run.model.codebooks[0]]["exp_avg"][3:].any()


def test_early_stop_needs_both_to_stall() -> None:
    worse = {"held_out_error": 2.0, "held_out_purity": 0.5}
    best = {"held_out_error": 1.0, "held_out_purity": 0.5}
    assert History([best, worse, worse]).stalled(2)
    assert not History([best, worse]).stalled(2)
    assert not History([worse, worse, best]).stalled(2)
    purer = {"held_out_error": 2.0, "held_out_purity": 0.6}
    assert not History([best, worse, purer]).stalled(2)


@pytest.mark.parametrize(
    "change",
    [
        {"gradient": "codebook"},
        {"labels": ((), (), ())},
        {"exclusivity": (0.0,)},
        {"bf16": True},
        {"held_out": 0.0},
        {"levels": 1, "labels": (("article_type",),), "exclusivity": (0.01,)},
        {"levels": 4, "labels": ((), ("article_type",), (), ("usage",)), "exclusivity": (0.01,)},
        {"settle": 0.0},
        {"min_leaf": 1},
    ],
)
def test_every_setting_runs(data, change: dict) -> None:
    vectors, catalog, _ = data
    config = replace(SMALL, epochs=3, **change)
    codes = assign(learn(vectors, label_columns(catalog, config.labels), config), vectors)
    assert codes.shape == (600, config.levels)
    assert codes.max() < config.codebook_size


def test_bad_input_is_refused(data) -> None:
    vectors, _, labels = data
    with pytest.raises(InputError, match="finite"):
        learn(np.full_like(vectors, np.nan), labels, SMALL)
    with pytest.raises(InputError, match="labels"):
        learn(vectors, labels[:1], SMALL)
    with pytest.raises(InputError, match="at least 80"):
        learn(vectors[:30], [[y[:30] for y in level] for level in labels], SMALL)


# --- configuration -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"recipe": "papr"},
        {"gradient": "both"},
        {"levels": 0},
        {"codebook_size": 65_537},
        {"labels": (("article_type",),)},
        {"exclusivity": (0.1, 0.1)},
        {"exclusivity": (-0.1,)},
        {"latent": 0},
        {"epochs": 0},
        {"temperature": 0.0},
        {"held_out": 1.0},
    ],
)
def test_bad_settings_are_refused(change: dict) -> None:
    with pytest.raises(ConfigError):
        RQVAEConfig(**change)


def test_the_paper_recipe_is_literal() -> None:
    config = RQVAEConfig(recipe="paper").resolved()
    assert config.labels == paper_labels()
    assert config.weights == (0.05, 0.05, 0.05)
    assert (config.levels, config.codebook_size, config.latent) == (3, 64, 32)
    assert (config.beta, config.temperature, config.gradient) == (0.25, 0.07, "codebook")
    assert config.hidden == (512, 256, 128)


# --- labels ------------------------------------------------------------------------------------


def test_labels_join_and_keep_nulls() -> None:
    catalog = pa.table(
        {"a": ["x", "y", "x", None], "b": ["2", "1", "2", "1"], "tags": [["t"], [], None, []]}
    )
    (first,), (joined,) = label_columns(catalog, (("a",), ("a+b",)))
    assert first.tolist() == [0, 1, 0, -1]
    assert joined[0] == joined[2] != joined[1]
    assert joined[3] == -1
    for wrong in ("tags", "colour"):
        with pytest.raises(ConfigError, match="plain column"):
            label_columns(catalog, ((wrong,),))


# --- assignment --------------------------------------------------------------------------------


def test_codes_do_not_depend_on_the_chunks(data) -> None:
    vectors, _, labels = data
    model = learn(vectors, labels, replace(SMALL, epochs=3))
    many = np.tile(vectors, (15, 1)) + np.random.default_rng(0).normal(
        scale=0.05, size=(9000, vectors.shape[1])
    ).astype(np.float32)
    whole = assign(model, many)
    for cut in (1, 7, 1000, 4096, 5001):
        parts = [assign(model, many[i : i + cut]) for i in range(0, 9000 if cut > 7 else 70, cut)]
        joined = np.concatenate(parts)
        assert np.array_equal(joined, whole[: len(joined)])
    half = many.astype(np.float16)
    assert np.array_equal(assign(model, half), assign(model, half.astype(np.float32)))
    assert whole.dtype == np.uint16
    with pytest.raises(InputError, match="24 numbers"):
        assign(model, many[:, :5])


def test_a_saved_model_assigns_the_same(data, tmp_path: Path) -> None:
    vectors, _, labels = data
    model = learn(vectors, labels, SMALL)
    save_model(model, tmp_path)
    again = load_model(tmp_path)
    assert again.config == model.config
    assert [keys.tolist() for keys in again.tree] == [keys.tolist() for keys in model.tree] != []
    assert np.array_equal(assign(again, vectors), assign(model, vectors))
    with pytest.raises(InputError, match="trained quantiser"):
        load_model(tmp_path / "nowhere")


def test_residual_kmeans_leaves_less_at_every_level(data) -> None:
    left = torch.from_numpy(data[0])
    norms = [float(left.square().sum())]
    for book in residual_kmeans(left, 3, 8, seed=0):
        left = left - book[nearest_codes(left, book)]
        norms.append(float(left.square().sum()))
    assert norms == sorted(norms, reverse=True)


# --- small leaves are closed -------------------------------------------------------------------


def test_open_prefixes_by_hand() -> None:
    first = np.array([[0]] * 5 + [[1]] * 2 + [[3]] * 9)
    assert open_prefixes(first, 4, 5).tolist() == [0, 3]
    second = np.array([[0, 2]] * 6 + [[0, 1]] * 4 + [[3, 0]] * 2 + [[3, 1]] * 3 + [[3, 2]] * 3)
    # Prefix 0 keeps code 2 (six products); prefix 3, the second open one, its first largest child.
    assert open_prefixes(second, 4, 5).tolist() == [0 * 4 + 2, 1 * 4 + 1]


def test_products_of_closed_leaves_take_the_nearest_open_one() -> None:
    config = RQVAEConfig(
        hidden=(), latent=1, levels=1, labels=((),), exclusivity=(0.0,), codebook_size=3
    )
    model = RQVAE(1, config)
    with torch.no_grad():
        model.encoder[0].weight.fill_(1.0)
        model.encoder[0].bias.zero_()
        model.codebooks[0].copy_(torch.tensor([[0.0], [1.0], [3.0]]))
    vectors = np.array([[0.0], [0.1], [0.2], [0.9], [1.2], [2.8], [3.0], [3.1]], np.float32)
    assert assign(model, vectors)[:, 0].tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    close_small_leaves(model, vectors, 3)
    assert assign(model, vectors)[:, 0].tolist() == [0, 0, 0, 0, 0, 2, 2, 2]
    assert assign(model, np.array([[1.6]], np.float32))[0, 0] == 2
    close_small_leaves(model, vectors, 1)
    assert assign(model, vectors)[3, 0] == 1


@pytest.mark.parametrize("least", [2, 5, 20])
def test_every_prefix_holds_the_least_size(data, least: int) -> None:
    vectors, _, labels = data
    model = learn(vectors, labels, replace(SMALL, min_leaf=least, items_per_prefix=0))
    codes = assign(model, vectors)
    for level in (1, 2, 3):
        sizes = np.unique(codes[:, :level], axis=0, return_counts=True)[1]
        assert sizes.min() >= least
    free = RQVAE(model.dim, model.config)
    free.load_state_dict(model.state_dict())
    plain = assign(free, vectors)
    assert np.unique(plain, axis=0, return_counts=True)[1].min() < least
    assert (plain[:, 0] == codes[:, 0]).mean() > 0.5  # large prefixes keep their products


# --- the stage and its diagnostics -------------------------------------------------------------


def _ids(catalog: pa.Table, codes: np.ndarray) -> pa.Table:
    lists = pa.array(codes.astype(np.uint16).tolist(), pa.list_(pa.uint16()))
    return pa.table([catalog["product_id"].combine_chunks(), lists], schema=SEMANTIC_IDS)


def _tensors(labels: list) -> list[list[torch.Tensor]]:
    return [[torch.from_numpy(y) for y in level] for level in labels]


def test_stage(data, tmp_path: Path) -> None:
    vectors, catalog, _ = data
    result = semantic_ids(catalog, embeddings(vectors, catalog), SMALL, checkpoint=tmp_path)
    assert result.table.schema == SEMANTIC_IDS
    assert result.table["product_id"].to_pylist() == catalog["product_id"].to_pylist()
    found = result.diagnostics
    assert [level["level"] for level in found["levels"]] == [1, 2, 3]
    assert found["config"]["codebook_size"] == 7
    assert found["labels"][0] == {"article_type": 1.0}
    assert "base_color" in found["levels"][0]["attributes"]
    quality, spread, collisions = table(found).split("\n\n")
    assert [len(block.splitlines()) for block in (quality, spread)] == [4, 4]
    assert "NMI base_color" in spread
    assert "NMI usage" in spread
    assert collisions.endswith("of products share their semantic ID with another.")
    write_diagnostics(found, tmp_path)
    assert (tmp_path / "diagnostics.png").stat().st_size > 1000
    assert (tmp_path / "diagnostics.txt").read_text(encoding="utf-8") == table(found) + "\n"
    assert read_json(tmp_path / "diagnostics.json")["collisions"] == found["collisions"]


def test_stage_refuses_what_does_not_fit(data) -> None:
    vectors, catalog, _ = data
    with pytest.raises(BuildError, match="same products"):
        semantic_ids(catalog, embeddings(vectors, catalog).slice(1), SMALL)
    bare = catalog.set_column(2, "article_type", pa.nulls(600, pa.string()))
    with pytest.raises(CatalogError, match="article type"):
        semantic_ids(bare, embeddings(vectors, catalog), SMALL)


def test_floors(data) -> None:
    _, catalog, _ = data
    one = diagnose(_ids(catalog, np.zeros((600, 3))), catalog)
    with pytest.raises(QualityError, match=r"level 1 collapsed.*Lower exclusivity"):
        check_floors(one, RQVAEConfig())
    spread = np.random.default_rng(0).integers(64, size=(600, 3))
    scattered = diagnose(_ids(catalog, spread), catalog)
    with pytest.raises(QualityError, match=r"qualifying leaves.*codebook_size"):
        check_floors(scattered, RQVAEConfig())
    check_floors(scattered, RQVAEConfig(min_coverage=0.0))


def test_diagnostics_by_hand() -> None:
    catalog = pa.table(
        {
            "product_id": list("abcdefgh"),
            "article_type": ["x"] * 4 + ["y"] * 4,
            "base_color": ["r", "r", "b", "b", "r", "r", "r", None],
            "gender": ["m"] * 8,
        }
    )
    codes = np.array([[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [1, 2]])
    found = diagnose(_ids(catalog, codes), catalog)
    first, leaf = found["levels"]
    assert found["collisions"] == 6 / 8
    assert first["attributes"]["base_color"]["all"]["purity"] == pytest.approx(5 / 7)
    assert first["attributes"]["base_color"]["all"]["mean_purity"] == pytest.approx(0.75)
    assert first["attributes"]["base_color"]["labelled"] == pytest.approx(7 / 8)
    assert first["attributes"]["article_type"]["nmi"] == pytest.approx(1.0)
    assert first["attributes"]["gender"]["nmi"] == 0.0
    assert leaf["split"]["combinations"] == 0  # none holds five products
    assert np.isnan(leaf["attributes"]["article_type"]["qualifying"]["purity"])


def test_nmi_equals_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(6, size=50), rng.integers(-1, 5, size=50)
        known = b >= 0
        assert nmi(a, b) == pytest.approx(normalized_mutual_info_score(a[known], b[known]))
    assert np.isnan(nmi(np.zeros(3, int), np.full(3, -1)))
    assert nmi(np.zeros(3, int), np.zeros(3, int)) == 1.0
