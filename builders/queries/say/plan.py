"""What one query says, and the intents that follow from it.

In:  product types and wishes chosen for a cluster.
Out: a :class:`Plan`; φ(q) of the query made from it (paper, section 3, query attribute enrichment).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fashion_rq_bench.builders.queries.say.habits import table
from fashion_rq_bench.builders.queries.say.lexicon import (
    TypeForms,
    group_forms,
    grown,
    person_forms,
    type_forms,
)
from fashion_rq_bench.schema.domain import domain
from fashion_rq_bench.words.vocabulary import tokens

__all__ = ["Plan", "can_name_person", "intents_of"]


@dataclass(frozen=True)
class Plan:
    """What a query has to say.

    Attributes:
        types: article types asked for; several are joined by "or".
        wishes: attribute to values, for all others; several values are joined by "or".
        person: say for whom and which age by naming a person ("my wife").
        group: ``types`` holds one broad category instead of article types.
        phrases: title phrases of the cluster; a name for the type that stands there is preferred.
    """

    types: tuple[str, ...]
    wishes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    person: bool = False
    group: bool = False
    phrases: frozenset[str] = frozenset()

    @cached_property
    def forms(self) -> tuple[TypeForms, ...]:
        """Names of the types."""
        return tuple(group_forms(one) if self.group else type_forms(one) for one in self.types)

    @cached_property
    def named(self) -> frozenset[str]:
        """Words of the names of the types."""
        return frozenset(w for one in self.forms for name in one.many for w in tokens(name))

    @property
    def kind(self) -> str:
        """Class of the first type, e.g. "wear"."""
        return self.forms[0].kind


def can_name_person(plan: Plan) -> bool:
    """Whether the plan can say for whom by naming a person to buy for."""
    wanted = plan.wishes.get(domain().name_of("person"))
    kinds = {forms.kind for forms in plan.forms}
    own = kinds & set(table("phrase")["no_gifts"])
    return bool(wanted and person_forms(wanted[0]).gift) and not own


def intents_of(plan: Plan) -> list[dict[str, Any]]:
    """φ(q) of a query made from ``plan``: one intent per product type, values as in the catalog.

    Everything but brands is in lower case; an attribute that is not said is None. Boys and girls
    are kids by their name; a named person's age is said with her.
    """
    said: dict[str, Any] = dict.fromkeys(domain().names)
    for attribute, values in plan.wishes.items():
        brand = domain().by_name[attribute].role == "brand"
        texts = [value if brand else value.casefold() for value in values]
        said[attribute] = texts if attribute in domain().many else texts[0]
    age, person = domain().name_of("age"), plan.wishes.get(domain().name_of("person"))
    if age and person:
        forms = person_forms(person[0])
        if forms.age and (plan.person or forms.age != grown()):
            said[age] = forms.age
    return [{**said, domain().type.name: one.casefold()} for one in plan.types]
