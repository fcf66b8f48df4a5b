"""Modules and names that moved: the old ones work for one more version and tell the new place.

In:  ``import fashion_rq_bench`` (:func:`install`), and packages that once were modules
     (:func:`names_of`).
Out: an old module path is the module at the new one, and using it is a DeprecationWarning.

Whatever lies here is read only once an old path is asked for: ``import`` stays as fast.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as `typing` has it, without importing typing
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

__all__ = ["install", "moved", "names_of"]

_US = "fashion_rq_bench."

_MOVED = """
. > support: cost=metering
report > support: grid
. > measures: ranking classification consistency stats=statistics
measures > measures.ranked: average_precision hit_rate ndcg precision recall reciprocal_rank
. > words: vocabulary
. > relevance: comparators similarity visual=images intents matching=pair_relevance weights_file
  consistent=satisfaction
comparators > relevance.comparators: age_group=scale brand=name color gender=choice price=tier
  product_type=category soft_text=text
retrievers > encoders: assemble baselines encoders=by_name encoding loading lsa model names
  open_clip sentence tokens vectors
. > editions: edition pools judgements=pool_relevance
retrievers > retrievers: cross=cross_encoder late=late_interaction search=block_search
. > retrievers: retrieval=dot_search
. > evaluation: scoring=task_scores floor full_catalog=whole_catalog results
  pricing=price_forecast
report > evaluation: run_tables home
report > report.board: pooled compare
report > report.tables: leaderboard_grid=leaderboard paper paper_tables=paper_layout llm_price
  weights_report=weights describe statistics build show
report > report.page: page_data=data page_explorer=explorer
. > people: study=user_study study_files review=hand_review
report > people: study_report rating_page review_page review_table
builders > builders.pipeline: build_config=config
builders.catalog > builders.catalog.values: attributes brands cleaning derive price
builders.catalog > builders.catalog.files: delimited kaggle mending raw tables images
builders.catalog > builders.catalog.domains.fashion: synthetic_catalog=made
  synthetic_config=config synthetic_draw=draw synthetic_plan=plan synthetic_rows=rows
  synthetic_slots=slots synthetic_text=text synthetic_words=words
builders > builders.hierarchy: tree=prefix_tree
builders > builders.context: phrases=title_phrases signatures tiers=cluster_levels
  values=incidence
builders > builders.tasks: pools=candidate_pools strata=anchor_order twins=twin_products
  invariants reference=reference_scores
builders > builders.edition: edition_card=card edition_checks=checks edition_croissant=croissant
  strings=string_vectors
builders.queries > builders.queries.say: evidence candidates=candidate_wishes wishes=wish_sets
  plan planning draw lexicon
builders.queries > builders.queries.grammar: frames nouns noise drafts
builders.queries > builders.queries.check: verify grounding revision quality enrich=parser
  phrasebook steering
builders.queries > builders.queries.llm: llm_budget=budget llm_cache=cache llm_calls=calls
  llm_client=client llm_config=config llm_drafts=drafts llm_enrich=enrich llm_local=local
  llm_price=price llm_report=report parse=answers prompt
"""
"""Old package > new package: modules, with ``old=new`` where the name has changed too."""

_table: dict[str, str] = {}


def moved() -> dict[str, str]:
    """Full names of the modules that moved: the old to the new one."""
    for line in _MOVED.strip().replace("\n  ", " ").splitlines() if not _table else ():
        packages, _, modules = line.partition(": ")
        old_home, new_home = (
            _US if one == "." else f"{_US}{one}." for one in packages.split(" > ")
        )
        for module in modules.split():
            old, _, new = module.partition("=")
            _table[old_home + old] = new_home + (new or old)
    return _table


def install() -> None:
    """Let the import system find the old modules; calling it again is harmless."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # In front: below an old package the usual finder would load a second copy of a module.
        sys.meta_path.insert(0, _Finder())


def names_of(package: str, home: str) -> Callable[[str], object]:
    """A ``__getattr__`` for a package that was a module, which gives the names it had then.

    Args:
        package: the package's ``__name__``.
        home: full name of the module that has them now.
    """

    def get(name: str) -> object:
        from importlib import import_module

        module = import_module(home)
        if name not in module.__all__:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        _warn(f"{package}.{name}", f"{home}.{name}")
        found: object = getattr(module, name)
        return found

    return get


def _warn(old: str, new: str) -> None:
    import warnings

    text = f"{old} is now {new}; the old name goes with the next version."
    warnings.warn(text, DeprecationWarning, stacklevel=3)


class _Finder:
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for an old name; None for any other."""
        if not name.startswith(_US) or name not in moved():
            return None
        from importlib.machinery import ModuleSpec

        loader: Any = _Loader()
        return ModuleSpec(name, loader)


class _Loader:
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The usual one, which the moved module then takes the place of."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module at the new place under the old name too, as one and the same."""
        from importlib import import_module

        new = moved()[module.__name__]
        _warn(module.__name__, new)
        sys.modules[module.__name__] = import_module(new)
