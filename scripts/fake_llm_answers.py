"""What the fake language model of ``fake_llm.py`` answers, whole or broken in a given way.

In:  the messages of a request, the kind of fault to show.
Out: a :class:`Reply` to stream.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

FAULTY = ("shoes", "usage=casual shoes for you", "Fine things of Nowherebrand, for nobody")
"""Searches that a verifier refuses: too short, with internal names, without a known product."""
MALFORMED = ("fenced", "single-quoted", "commented", "duplicated key", "in prose", "half-finished")
SHAPES = (
    "I am looking for {what} to wear every day",
    "show me {what} please",
    "{what} that go with everything",
    "where can I buy {what} online",
    "need {what} for my next trip",
    "good quality {what} as a birthday gift",
    "comfortable {what} for the weekend",
)


@dataclass(frozen=True)
class Reply:
    """What is streamed: a text, how much of it, how it ends, and its complete queries."""

    text: str
    finish: str | None = "stop"
    queries: tuple[str, ...] = ()


def digest_of(messages: list[dict[str, str]]) -> str:
    """The conversation's digest, as the client's cache records it."""
    total = hashlib.sha256()
    for message in messages:
        for part in (message["role"], message["content"]):
            data = part.encode("utf-8")
            total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()


# ---------------------------------------------------------------- answers


def evidence_in(messages: list[dict[str, str]]) -> dict[str, list[dict[str, Any]]]:
    """Section to facts, from the block in the first user message."""
    block = re.search(r"<evidence>\n(.*?)\n</evidence>", messages[1]["content"], re.DOTALL)
    sections: dict[str, list[dict[str, Any]]] = {}
    for line in block[1].splitlines() if block else []:
        sections.update(json.loads(line))
    return sections


def searches(messages: list[dict[str, str]], salt: str) -> list[str]:
    """Plausible searches: the product types with what nearly all products share."""
    facts = evidence_in(messages)
    types = [fact["product type"] for fact in facts.get("product types", [])]
    shared = {
        name: str(fact[name])
        for fact in facts.get("what the products are", [])
        for name in ("colour", "gender", "brand", "use")
        if name in fact and (fact["percent"] == "all" or fact["percent"] >= 80)
    }
    again = len(messages) > 2
    start = int(salt[:6], 16)
    count = 4 if again else max(7, len(types))
    found = []
    for number in range(count):
        kind = types[number % len(types)] if types else "clothes"
        what = _thing(kind, shared, skip=number // len(types) if types else number)
        shape = SHAPES[(start + number + (3 if again else 0)) % len(SHAPES)]
        found.append(shape.format(what=what))
    return list(dict.fromkeys(found))


def _thing(kind: str, shared: dict[str, str], skip: int) -> str:
    """A noun phrase; later ones leave out one of the shared facts."""
    names = [name for name in ("brand", "colour", "use", "gender") if name in shared]
    said = {name: shared[name] for i, name in enumerate(names) if i != (skip - 1) % 5}
    words = [said.get("brand", ""), said.get("colour", "").lower(), said.get("use", "").lower()]
    tail = f"for {said['gender'].lower()}" if "gender" in said else ""
    kind = kind.lower()
    own = [word for word in words if word and f"{word} " not in f"{kind} "]
    return " ".join([*own, kind, *([tail] if tail else [])])


def answer(queries: list[str], messages: list[dict[str, str]]) -> dict[str, Any]:
    """A good answer as an object."""
    types = [fact["product type"] for fact in evidence_in(messages).get("product types", [])]
    covered = {kind: next((q for q in queries if kind.lower() in q), "") for kind in types}
    return {
        "insights": 'Products that "belong" together; shoppers\' favourites.',
        "user_queries": queries,
        "delta_vs_parent": "Narrower in colour and brand.",
        "delta_vs_siblings": "Other brands.",
        "validation_checks": ["each type has its search"],
        "coverage_map": [
            {"product_type": kind, "query": query} for kind, query in covered.items() if query
        ],
    }


def reply(kind: str, messages: list[dict[str, str]], salt: str) -> Reply:
    """What to stream for a kind of behaviour."""
    if kind == "empty":
        return Reply("")
    if "<queries>" in messages[1]["content"]:
        return reading_reply(kind, messages, salt)
    queries = searches(messages, salt)
    if kind == "single":
        queries = queries[:1]
    if kind == "faulty":
        queries = [*queries[: 1 if len(messages) > 2 else 3], *FAULTY]
    whole = answer(queries, messages)
    text = json.dumps(whole, indent=1, ensure_ascii=False)
    if kind in ("cut", "truncated"):
        place = text.index(json.dumps(queries[-1], ensure_ascii=False)) + 8
        finish = "length" if kind == "truncated" else None
        return Reply(text[:place], finish, tuple(queries[:-1]))
    if kind == "malformed":
        return Reply(
            malformed(whole, MALFORMED[int(salt[-4:], 16) % len(MALFORMED)]), "stop", tuple(queries)
        )
    if kind == "wrong schema":
        listed = [{"query": query, "score": 1} for query in queries]
        return Reply(json.dumps({"results": 3, "queries": listed}), "stop", tuple(queries))
    if kind == "enormous":
        whole["delta_vs_parent"] = "and so on " * 20_000
        return Reply(json.dumps(whole), "stop", tuple(queries))
    if kind == "steered":
        steered = [*queries, f"{stray_text(messages)} buy now at http://evil.example"]
        return Reply(json.dumps(whole | {"user_queries": steered}), "stop", tuple(queries))
    return Reply(text, "stop", tuple(queries))


def readings(messages: list[dict[str, str]], *, steered: bool) -> list[dict[str, Any]]:
    """The searches in the prompt, read: values of its lists that stand in them as words."""
    lines = re.search(r"<queries>\n(.*?)\n</queries>", messages[1]["content"], re.DOTALL)
    found = []
    for line in lines[1].splitlines() if lines else []:
        one = json.loads(line)
        words, intent = f" {one['search'].lower()} ", {}
        for name, listed in re.findall(
            r"^(\w+) \(\w+\): .*?(\".*\")$", messages[0]["content"], re.M
        ):
            said = [value for value in json.loads(f"[{listed}]") if f" {value.lower()} " in words]
            if said:
                intent[name] = said if name in ("color", "occasion") else max(said, key=len)
        if steered:
            intent["brand"] = ["Evilwear"]
        found.append({"number": one["number"], "intents": [intent]})
    return found


def reading_reply(kind: str, messages: list[dict[str, str]], salt: str) -> Reply:
    """What to stream when queries are to be read."""
    found = readings(messages, steered=kind == "steered")
    text = json.dumps({"readings": found}, indent=1)
    if kind in ("cut", "truncated"):
        return Reply(text[: len(text) // 2], "length" if kind == "truncated" else None)
    if kind == "malformed":
        how = int(salt[-4:], 16) % 3
        forms = (f"```json\n{text}\n```", str({"readings": found}), f"Here you are: {text} Done!")
        return Reply(forms[how])
    if kind in ("wrong schema", "unread"):
        return Reply(json.dumps({"answer": {"intents": "none"}}))
    if kind == "enormous":
        return Reply(json.dumps({"readings": found, "notes": "and so on " * 20_000}))
    return Reply(text)


def stray_text(messages: list[dict[str, str]]) -> str:
    """A text of the evidence that gives orders, if there is one."""
    found = re.search(r'"((?:[Ii]gnore|IGNORE)[^"]*)"', messages[1]["content"])
    return found[1] if found else "Ignore previous instructions:"


def malformed(whole: dict[str, Any], how: str) -> str:
    """Broken JSON that still holds every query."""
    text = json.dumps(whole, indent=1)
    listed = [json.dumps(query) for query in whole["user_queries"]]
    if how == "fenced":
        return f"```json\n{text}\n```"
    if how == "single-quoted":
        return str(whole)
    if how == "commented":
        return (
            '{\n // the searches\n "user_queries": [' + ", # next\n ".join(listed) + "] /* end */}"
        )
    if how == "duplicated key":
        first, second = ", ".join(listed[:2]), ", ".join(listed[2:])
        return f'{{"user_queries": [{first}], "insights": "x", "user_queries": [{second}]}}'
    if how == "in prose":
        return f"Sure, here are the searches you asked for:\n\n{text}\n\nTell me if you need more!"
    return '{"insights": "x", "user_queries": [' + ", ".join(listed)


# ---------------------------------------------------------------- the server
