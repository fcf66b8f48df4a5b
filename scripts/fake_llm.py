"""A language-model endpoint that behaves as well and as badly as real ones.

In:  a port, a schedule of behaviours.
Out: an OpenAI-compatible server on 127.0.0.1 that streams answers made from the evidence (or the
     queries to be read) in the prompt; its address on standard output, and one JSON line per
     request in a log.

    python scripts/fake_llm.py --schedule rough --log requests.jsonl
    export FASHION_RQ_LLM_BASE_URL=http://127.0.0.1:8081/v1 FASHION_RQ_LLM_API_KEY=any

What it does to a prompt depends on the prompt and on how often that was asked, not on the order in
which requests arrive.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FAULTS = (
    "rate limit",
    "server error",
    "timeout",
    "cut",
    "truncated",
    "malformed",
    "wrong schema",
    "empty",
    "enormous",
    "steered",
)
FAULTY = ("shoes", "usage=casual shoes for you", "Fine things of Nowherebrand, for nobody")
"""Searches that a verifier refuses: too short, with internal names, without a known product."""
MALFORMED = ("fenced", "single-quoted", "commented", "duplicated key", "in prose", "half-finished")
SCHEDULES = {
    "good": ("good",),
    "rough": tuple(kind for fault in FAULTS for kind in (fault, "good")),
    "dead": ("server error",),
    "locked": ("unauthorized",),
    "plain": ("no schema",),
}
SHAPES = (
    "I am looking for {what} to wear every day",
    "show me {what} please",
    "{what} that go with everything",
    "where can I buy {what} online",
    "need {what} for my next trip",
    "good quality {what} as a birthday gift",
    "comfortable {what} for the weekend",
)


@dataclass
class State:
    """What the server is told and what it remembers."""

    schedule: tuple[str, ...] = SCHEDULES["good"]
    retry_after: str = "0.2"
    hang: float = 5.0
    delay: float = 0.0
    log: Path | None = None
    seen: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def kind(self, request: str) -> tuple[str, int]:
        """What to do to a request, and how often it was made before."""
        with self.lock:
            times = self.seen[request]
            self.seen[request] += 1
        return self.schedule[(int(request[:8], 16) + times) % len(self.schedule)], times

    def note(self, **entry: Any) -> None:
        """Append a line to the log."""
        if self.log is not None:
            with self.lock, self.log.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(entry) + "\n")


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


class Handler(BaseHTTPRequestHandler):
    """Answers POST /v1/chat/completions."""

    protocol_version = "HTTP/1.1"
    state: State

    def do_POST(self) -> None:
        """One chat completion."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = digest_of(body["messages"])
        kind, times = self.state.kind(request)
        entry = {"request": request, "times": times, "kind": kind}
        if len(body["messages"]) > 2:
            entry["correction"] = body["messages"][-1]["content"]
        if self._refused(kind, body, entry):
            return
        time.sleep(self.state.delay)
        made = reply(kind, body["messages"], request)
        counts = {
            "prompt_tokens": sum(len(one["content"]) for one in body["messages"]) // 4,
            "completion_tokens": len(made.text) // 4,
        }
        whole = self._stream(made, counts, body)
        self.state.note(**entry, **counts, answered=whole, queries=made.queries)

    def _refused(self, kind: str, body: dict[str, Any], entry: dict[str, Any]) -> bool:
        """Refuse as scheduled; says whether it did."""
        statuses = {"rate limit": 429, "server error": 500, "unauthorized": 401}
        unknown = kind == "no schema" and "response_format" in body
        if kind == "timeout":
            self.state.note(**entry)
            time.sleep(self.state.hang)
            self.close_connection = True
        elif kind in statuses or unknown:
            self.state.note(**entry)
            said = "response_format is not supported" if unknown else f"a planned {kind}"
            self._error(400 if unknown else statuses[kind], said)
        else:
            return False
        return True

    def _error(self, status: int, said: str) -> None:
        data = json.dumps({"error": {"message": said, "type": "planned"}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status == 429:
            self.send_header("Retry-After", self.state.retry_after)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, made: Reply, counts: dict[str, int], body: dict[str, Any]) -> bool:
        """Send server-sent events; False if the client hung up."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for event in events(made, counts, body):
                data = f"data: {event}\n\n".encode()
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            if made.finish is not None:
                self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()
        except OSError:
            self.close_connection = True
            return False
        self.close_connection = made.finish is None
        return True

    def log_message(self, format: str, *args: Any) -> None:
        """Keep standard error quiet."""


def events(made: Reply, counts: dict[str, int], body: dict[str, Any]) -> Iterator[str]:
    """The chunks of an answer, in OpenAI's form."""
    step = max(40, len(made.text) // 12)
    parts = [made.text[start : start + step] for start in range(0, len(made.text), step)]
    common = {"id": "fake", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
    for part in parts:
        choice = {"index": 0, "delta": {"content": part}, "finish_reason": None}
        yield json.dumps({**common, "choices": [choice]})
    if made.finish is None:
        return
    yield json.dumps(
        {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": made.finish}]}
    )
    if body.get("stream_options", {}).get("include_usage"):
        yield json.dumps(
            {**common, "choices": [], "usage": {**counts, "total_tokens": sum(counts.values())}}
        )
    yield "[DONE]"


class Server(ThreadingHTTPServer):
    """Many connections at once; ends without waiting for hung ones."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the play."""


def serve(state: State, port: int = 0) -> Server:
    """A server that is listening, in a thread of its own; ``.shutdown()`` ends it."""
    handler = type("BoundHandler", (Handler,), {"state": state})
    server = Server(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8081, help="0 for any free one")
    parser.add_argument("--schedule", choices=sorted(SCHEDULES), default="rough")
    parser.add_argument("--retry-after", default="0.2", help="value of the Retry-After header")
    parser.add_argument("--hang", type=float, default=5.0, help="seconds that a time-out hangs")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before an answer")
    parser.add_argument("--log", type=Path, help="file of one JSON line per request")
    given = parser.parse_args()
    state = State(SCHEDULES[given.schedule], given.retry_after, given.hang, given.delay, given.log)
    server = serve(state, given.port)
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.shutdown()


if __name__ == "__main__":
    main()
