"""Old module paths and names: they work, are the new ones, and say so."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from fashion_rq_bench._moved import moved

DOCUMENTED = {
    "fashion_rq_bench.classification": "class_sizes classes_by_rank classification_report",
    "fashion_rq_bench.consistency": "chance consistency",
    "fashion_rq_bench.edition": "Edition",
    "fashion_rq_bench.ranking": "from_run mean",
    "fashion_rq_bench.relevance": "score_rankings relevance attr_scores PAPER_WEIGHTS",
    "fashion_rq_bench.report.board": "Board read_board at_home",
    "fashion_rq_bench.report.compare": "compare",
    "fashion_rq_bench.report.page": "PageConfig write_page",
    "fashion_rq_bench.report.rating_page": "write_rating_page",
    "fashion_rq_bench.report.review_page": "write_review_page",
    "fashion_rq_bench.report.study_report": "plot_study study_table",
    "fashion_rq_bench.report.tables": "COLUMNS evaluation_table",
    "fashion_rq_bench.retrievers.encoders": "load_text_encoder",
    "fashion_rq_bench.review": "ReviewConfig read_reviews sample_review",
    "fashion_rq_bench.schema": "ATTRIBUTES CATALOG CONFIGS GRADE_NAMES Grade INTENT PRICE_TIERS "
    "SCALAR_ATTRIBUTES features schema_of",
    "fashion_rq_bench.stats": "resample interval differences holm",
    "fashion_rq_bench.study": "analyse read_queries read_ratings read_study write_study",
    "fashion_rq_bench.builders.catalog": "CatalogConfig product_text read_catalog",
    "fashion_rq_bench.builders.queries": "LLMConfig generate_with_llm price_job",
    "fashion_rq_bench.builders.rqvae": "exclusivity_loss",
    "fashion_rq_bench.builders.rqvae.diagnostics": "plot table",
    "fashion_rq_bench.builders.weights": "blend",
    "fashion_rq_bench.builders.context": "ContextConfig context",
    "fashion_rq_bench.builders.edition": "write_edition",
    "fashion_rq_bench.builders.hierarchy": "HierarchyConfig hierarchy",
    "fashion_rq_bench.builders.pipeline": "build",
    "fashion_rq_bench.builders.tasks": "TaskConfig",
}
"""What documents of version 0.1 import from where, and the modules that became packages."""

TEN = (
    "product_type",
    "gender",
    "color",
    "pattern",
    "material",
    "occasion",
    "brand",
    "style_tags",
    "age_group",
    "price_hint",
)


def fresh(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", code]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize(("old", "new"), sorted(moved().items()))
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_old_module_is_the_new_one(old: str, new: str) -> None:
    assert importlib.import_module(old) is importlib.import_module(new)


@pytest.mark.parametrize("module", sorted(DOCUMENTED))
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_documented_import_works(module: str) -> None:
    for name in DOCUMENTED[module].split():
        assert getattr(importlib.import_module(module), name) is not None


def test_the_warning_names_the_new_place_and_the_users_line() -> None:
    done = fresh("import fashion_rq_bench.study")
    assert "fashion_rq_bench.study is now fashion_rq_bench.people.user_study" in done.stderr
    assert 'File "<string>", line 1' in done.stderr
    assert "DeprecationWarning" in fresh("from fashion_rq_bench.report.board import Board").stderr


def test_an_old_package_brings_no_second_copy_of_its_modules() -> None:
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from fashion_rq_bench.comparators import color\n"
        "from fashion_rq_bench.relevance.comparators import color as new\n"
        "assert color is new\n"
        "assert color.__spec__.name == 'fashion_rq_bench.relevance.comparators.color'"
    )
    assert fresh(code).stderr == ""


def test_measures_are_functions_as_they_were() -> None:
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from fashion_rq_bench.measures import ndcg\n"
        "assert callable(ndcg)"
    )
    assert fresh(code).stderr == ""


def test_the_new_places_warn_of_nothing() -> None:
    code = "from fashion_rq_bench.schema import Grade, features, CONFIGS\nimport fashion_rq_bench"
    assert fresh(code).stderr == ""


def test_a_constant_that_depends_on_the_domain_says_what_to_ask() -> None:
    schema = importlib.import_module("fashion_rq_bench.schema")
    with pytest.warns(DeprecationWarning, match=r"schema\.domain\.domain\(\)\.names"):
        assert set(schema.ATTRIBUTES) == set(TEN)
    with pytest.raises(AttributeError, match="NOTHING"):
        _ = schema.NOTHING
