"""Reports: tables in three formats, letters and marks, plots with the same bytes, whole folders."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from helpers.boards import MODELS, edition_from, write_results
from typer.testing import CliRunner

from fashion_rq_bench.cli import app
from fashion_rq_bench.editions.edition import Edition
from fashion_rq_bench.errors import ConfigError, InputError
from fashion_rq_bench.measures import statistics as stats
from fashion_rq_bench.report import write
from fashion_rq_bench.report.board.board import Board, Measured, read_board
from fashion_rq_bench.report.plots import PLOTS, save
from fashion_rq_bench.report.tables.leaderboard import letters, names, warnings_of
from fashion_rq_bench.report.tables.paper_layout import four_tasks, paper_tables, ranks
from fashion_rq_bench.report.write import agreement_of_editions, write_report
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.support.grid import (
    Cell,
    Grid,
    Row,
    escape_latex,
    escape_markdown,
    figure,
    marks,
    to_csv,
)

NASTY = "bad_one|$x$<b>"


@pytest.fixture(scope="module")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    return edition_from(tmp_path_factory.mktemp("tiny") / "edition", "lsa")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, edition: Edition) -> Path:
    folder = tmp_path_factory.mktemp("results")
    write_results(folder, edition)
    return folder


@pytest.fixture(scope="module")
def board(edition: Edition, results: Path) -> Board:
    return read_board(edition, results)


# cells and formats


def test_figures_are_printed_as_in_the_paper() -> None:
    assert [figure(v) for v in (0.77364, 1.0, 0.0, math.nan)] == [".7736", "1.0000", ".0000", "–"]
    assert [figure(v, signed=True) for v in (0.01, -0.01, -0.00001)] == [
        "+.0100",
        "−.0100",
        "+.0000",
    ]
    assert figure(-0.5) == "−.5000"


def test_marks_go_by_what_is_printed() -> None:
    assert marks([0.9, 0.80001, 0.80002, 0.1]) == ["best", "second", "second", ""]
    assert marks([0.9, 1.0, math.nan]) == ["second", "best", ""]
    assert marks([0.9]) == [""]


def test_names_are_harmless_in_markdown_and_latex() -> None:
    assert escape_markdown("a|b_c*<i>&\nd") == r"a\|b\_c\*&lt;i\>&amp; d"
    assert escape_latex("50%_&#{}~^\\") == (
        r"50\%\_\&\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}"
    )
    assert escape_latex("[x] *y") == "{[}x] {*}y"  # neither may follow the end of a line


def test_csv_keeps_full_figures_and_starts_no_formula() -> None:
    text = to_csv([["=HYPERLINK()", 0.1 + 0.2, -0.5, math.nan, 'a,"b"']])
    assert next(csv.reader(io.StringIO(text))) == [
        "'=HYPERLINK()",
        repr(0.1 + 0.2),
        "-0.5",
        "",
        'a,"b"',
    ]


def test_a_table_in_three_formats() -> None:
    best = Cell(".9000", "[.8000, 1.0000]", 0.9, 0.8, 1.0, "best", "a")
    rows = (Row("m_1", (best,)), Row("floor", (Cell(".1000", value=0.1),), rule=True))
    grid = Grid("key", "Title", ("model", "T1 & T2"), rows, ("A note.",))
    assert grid.to_markdown().splitlines() == [
        "### Title",
        "",
        "| model | T1 &amp; T2 |",
        "|---|---:|",
        r"| m\_1 | **.9000** a<br>[.8000, 1.0000] |",
        "| floor | .1000 |",
        "",
        "- A note.",
    ]
    assert grid.to_latex().splitlines() == [
        r"\begin{table*}[t]",
        r"\centering\small",
        r"\caption{Title. A note.}",
        r"\label{tab:key}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"model & T1 \& T2 \\",
        r"\midrule",
        r"m\_1 & \textbf{.9000}\textsuperscript{a} \\",
        r" & {\scriptsize {[}.8000, 1.0000]} \\",
        r"\midrule",
        r"floor & .1000 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table*}",
    ]
    assert list(csv.reader(io.StringIO(grid.to_csv()))) == [
        ["model", "T1 & T2", "T1 & T2 low", "T1 & T2 high", "T1 & T2 group"],
        ["m_1", "0.9", "0.8", "1.0", "a"],
        ["floor", "0.1", "", "", ""],
    ]


# tables


def test_table_2_shows_figures_intervals_and_marks(board: Board) -> None:
    grid = four_tasks(board)
    assert grid.columns[:3] == ("model", "T1 nDCG@10", "T1 Rec@10")
    assert [row.name for row in grid.rows] == [
        "good",
        "lsa †",
        NASTY,
        "random floor",
        "attribute oracle",
    ]
    assert [row.rule for row in grid.rows] == [False, False, False, True, False]
    measured = board.measure("ranking", "ndcg@10")
    good, floor = grid.rows[0].cells[0], grid.rows[3].cells[0]
    place = names(board).index("good")
    assert good.value == measured.figures[place]
    assert (good.low, good.high) == tuple(end[place] for end in measured.interval)
    assert good.mark == "best"
    assert "a" in good.group
    assert (floor.mark, floor.group) == ("", "")
    macro = grid.columns.index("T2 F1") - 1
    assert grid.rows[0].cells[macro].group == ""


def test_letters_part_models_that_differ_after_holm_and_no_others() -> None:
    rng, count = np.random.default_rng(0), 40
    drawn = stats.resample(np.arange(count).astype(str))
    places, kinds = [0, 1, 2, 3], set()
    pairs = [(a, b) for a in places for b in places if a < b]
    for _ in range(20):
        values = rng.normal(size=(4, count)) + np.array([[0.9], [0.5], [0.4], [0.0]])
        draws, n = drawn.means(values.T), np.full(4, count)
        measured = Measured(values, drawn, values.mean(axis=1), draws, n, n - count, pooled=False)
        raw = measured.differences(pairs).p_value
        found = letters(measured, places)
        for (one, other), p_value, adjusted in zip(pairs, raw, stats.holm(raw), strict=True):
            assert bool(set(found[one]) & set(found[other])) == (adjusted >= stats.LEVEL)
            kinds.add((p_value < stats.LEVEL, adjusted < stats.LEVEL))
    assert kinds == {(True, True), (True, False), (False, False)}


def test_a_model_of_the_embedder_is_marked_and_explained(board: Board, tmp_path: Path) -> None:
    assert "built from the vectors of lsa" in warnings_of(board)[0]
    assert any("†" in note for note in four_tasks(board).notes)
    away = edition_from(tmp_path / "away", "minilm")
    write_results(tmp_path, away, {"good": 0.3, "lsa": 0.6})
    other = read_board(away, tmp_path)
    assert warnings_of(other) == []
    assert names(other) == ["good", "lsa"]


def test_all_tables_of_the_paper_are_there(board: Board) -> None:
    grids = {grid.key: grid for grid in paper_tables(board)}
    assert list(grids) == [
        "four-tasks",
        "four-tasks-consistent",
        "attribute-scores",
        "by-attribute",
        "by-class",
        "ranks",
    ]
    assert len(grids["attribute-scores"].columns) == 1 + 1 + len(domain().names)
    counts = grids["attribute-scores"].rows[-1]
    assert counts.name == "queries"
    assert counts.cells[1].text == "24"  # each query names a product type
    assert counts.cells[-1].text == "0"  # and none a style
    assert grids["attribute-scores"].rows[0].cells[-1].text == "–"
    assert len(grids["by-class"].columns) == 1 + 2 * 6


def test_ranks_span_what_resampling_gives(board: Board) -> None:
    grid = ranks(board)
    places = board.places()
    low, high = stats.rank_ranges(board.measure("ranking", "ndcg@10").draws[:, places])
    first = {row.name: row.cells[0] for row in grid.rows}
    for row, place in enumerate(places):
        cell = first[names(board)[place]]
        assert (cell.low, cell.high) == (low[row], high[row])
        assert cell.text.startswith(f"{cell.value:g} (")


def test_one_model_alone_needs_no_letters(
    edition: Edition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "PLOTS", {"ranks": PLOTS["ranks"]})
    write_results(tmp_path, edition, {"good": 0.3})
    board = read_board(edition, tmp_path)
    cell = four_tasks(board).rows[0].cells[0]
    assert (cell.mark, cell.group) == ("", "")
    assert write_report([(edition, tmp_path)], tmp_path / "out")


# plots


def test_plots_have_the_same_bytes_each_time(board: Board, tmp_path: Path) -> None:
    for kind in ("svg", "png"):
        paths = [tmp_path / f"{time}.{kind}" for time in range(2)]
        for path in paths:
            save(PLOTS["ranks"](board), path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_plots_show_the_figures(board: Board) -> None:
    panels = PLOTS["tasks"](board).axes
    assert len(panels) == 4
    measured = board.measure("ranking", "ndcg@10")
    order = [names(board).index(text.get_text()) for text in panels[0].get_yticklabels()]
    widths = [bar.get_width() for bar in panels[0].patches]
    np.testing.assert_allclose(widths, measured.figures[order])
    lines = [line.get_xdata()[0] for line in panels[0].get_lines() if len(line.get_xdata()) == 2]
    floor, oracle = board.places("floor")[0], board.places("reference")[0]
    assert {measured.figures[floor], measured.figures[oracle]} <= set(lines)


def test_names_are_no_mathematics_in_plots(edition: Edition, tmp_path: Path) -> None:
    write_results(tmp_path, edition, {"a$\\frac$b": 0.3, "c": 0.4})
    board = read_board(edition, tmp_path)
    for name, draw in PLOTS.items():
        save(draw(board), tmp_path / f"{name}.png")


def test_of_many_models_the_dot_plots_show_the_first_and_say_so(
    edition: Edition, tmp_path: Path
) -> None:
    write_results(tmp_path, edition, {f"m{number}": 0.2 + number / 5 for number in range(10)})
    board = read_board(edition, tmp_path)
    legend = PLOTS["attributes"](board).legends[0]
    assert len(legend.get_texts()) == 8
    assert "the first 8 of 10 models" in legend.get_title().get_text()
    assert len(PLOTS["ranks"](board).axes[0].get_yticklabels()) == 10


# whole reports


@pytest.mark.slow
def test_a_report_is_whole_and_the_same_each_time(
    edition: Edition, results: Path, tmp_path: Path
) -> None:
    files = [write_report([(edition, results)], tmp_path / out) for out in ("one", "two")]
    assert [path.name for path in files[0]] == ["index.html", "report.md"]
    first = {
        p.relative_to(tmp_path / "one"): p.read_bytes() for p in (tmp_path / "one").rglob("*.*")
    }
    second = {
        p.relative_to(tmp_path / "two"): p.read_bytes() for p in (tmp_path / "two").rglob("*.*")
    }
    assert first == second
    assert len(first) == 7 * 3 + 4 * 2 + 4
    text = (tmp_path / "one" / "report.md").read_text(encoding="utf-8")
    assert "<b>" not in text
    assert r"bad\_one\|\$x\$&lt;b\>" in text
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (tmp_path / "one" / picture).is_file()
    latex = (tmp_path / "one" / "tables" / "four-tasks.tex").read_text(encoding="utf-8")
    assert r"bad\_one\textbar{}\$x\$\textless{}b\textgreater{}" in latex
    facts = json.loads((tmp_path / "one" / "report.json").read_text(encoding="utf-8"))
    assert facts["edition"]["id"] == edition.id
    assert len(facts["comparisons"]["comparisons"]) == 3 * 4
    rows = list(csv.DictReader((tmp_path / "one" / "comparisons.csv").open(encoding="utf-8")))
    assert len(rows) == 3 * 4
    assert float(rows[0]["p_holm"]) >= float(rows[0]["p_value"])


def test_latex_is_balanced(board: Board) -> None:
    for grid in paper_tables(board):
        text = re.sub(r"\\[{}]", "", grid.to_latex())
        assert text.count("{") == text.count("}")
        widths = {line.count(" & ") for line in text.splitlines() if line.endswith(r"\\")}
        assert widths == {len(grid.columns) - 1}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no LaTeX here")
def test_latex_compiles(edition: Edition, tmp_path: Path) -> None:
    nasty = '[x]*y "q" #1 ~^\\z {é} τ & 50% $a_b$'
    write_results(tmp_path, edition, {nasty: 0.3, "c": 0.4})
    board = read_board(edition, tmp_path)
    tables = [*paper_tables(board), write.agreement_of_editions([board])[0]]
    body = "\n".join(grid.to_latex() for grid in tables)
    packages = r"\usepackage{booktabs}\usepackage{graphicx}\usepackage[T1]{fontenc}"
    text = (
        rf"\documentclass[twocolumn]{{article}}{packages}\begin{{document}}{body}\end{{document}}"
    )
    (tmp_path / "t.tex").write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "t.tex"], cwd=tmp_path, capture_output=True
    )
    log = (tmp_path / "t.log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, log
    assert "Overfull" not in log


def test_editions_of_two_embedders_are_told_how_far_they_agree(
    edition: Edition, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "PLOTS", {})
    other = _another(tmp_path / "other")
    write_results(tmp_path / "results", other, dict(reversed(MODELS.items())) | {"extra": 1.0})
    files = write_report([(edition, results), (other, tmp_path / "results")], tmp_path / "out")
    assert files[0] == tmp_path / "out" / "report.md"
    assert {path.parent.name for path in files[1:]} == {
        f"{one.name}-{one.id[:8]}" for one in (edition, other)
    }
    boards = [read_board(edition, results), read_board(other, tmp_path / "results")]
    ranking = agreement_of_editions(boards)[0]
    assert "(lsa)" in ranking.columns[1]
    assert "(minilm)" in ranking.rows[0].name
    assert any("Models: bad_one|$x$<b>, good, lsa." in note for note in ranking.notes)
    assert "At home in one of the editions: lsa." in ranking.notes
    figures = [
        [
            board.measure("ranking", "ndcg@10").figures[names_of(board).index(name)]
            for name in (NASTY, "good", "lsa")
        ]
        for board in boards
    ]
    assert ranking.rows[0].cells[0].value == stats.rank_agreement(figures)[0, 1]


def names_of(board: Board) -> list[str]:
    return [one.name for one in board.models]


def _another(path: Path) -> Edition:
    """An edition of other content than the tiny one."""
    from helpers.scored import strings_for
    from helpers.tiny import CONFIG, tiny_tables, with_column, write_tiny

    tables = tiny_tables()
    titles = [f"New {title}" for title in tables["corpus"]["title"].to_pylist()]
    tables["corpus"] = with_column(tables["corpus"], "title", titles)
    tables["strings"] = strings_for(tables)
    write_tiny(path, tables, name="other", config=CONFIG | {"embedding": {"encoder": "minilm"}})
    return Edition.open(path)


def test_nothing_is_written_without_results(edition: Edition, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no results"):
        write_report([(edition, tmp_path)], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_same_edition_twice_is_refused(edition: Edition, results: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="named twice"):
        write_report([(edition, results)] * 2, tmp_path / "out")


def test_the_command_says_what_to_open(
    edition: Edition, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "PLOTS", {})
    command = ["report", "--edition", str(edition.path), "--results", str(results)]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["files"] == [
        str(tmp_path / "out" / "index.html"),
        str(tmp_path / "out" / "report.md"),
    ]
