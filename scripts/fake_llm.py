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
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fake_llm_answers import Reply, digest_of, reply

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
SCHEDULES = {
    "good": ("good",),
    "rough": tuple(kind for fault in FAULTS for kind in (fault, "good")),
    "dead": ("server error",),
    "locked": ("unauthorized",),
    "plain": ("no schema",),
}


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
