"""Answers of language models, kept on disk.

In:  a request (messages, model, parameters, number of the answer) and its completion.
Out: the same completion for the same request, in any later run, without the model.

One JSON file per answer, written whole or not at all, named by a hash of the request. It holds
neither the endpoint nor a key.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fashion_rq_bench.support.files import digest, read_json, to_json, write_json

__all__ = ["AnswerCache", "Completion", "messages_digest", "request_key"]


@dataclass(frozen=True)
class Completion:
    """An answer of a model.

    Attributes:
        text: what arrived.
        finish: "stop", "length" (the limit was reached) or "cut" (the connection broke).
        prompt_tokens, completion_tokens: as the server counted them, else estimated.
        counted: whether the server counted.
    """

    text: str
    finish: Literal["stop", "length", "cut"]
    prompt_tokens: int
    completion_tokens: int
    counted: bool = True


def messages_digest(messages: Sequence[Mapping[str, str]]) -> str:
    """SHA-256 (hex) of a conversation."""
    return digest(*(part for one in messages for part in (one["role"], one["content"])))


def request_key(
    messages: Sequence[Mapping[str, str]], identity: Mapping[str, object], number: int
) -> str:
    """SHA-256 (hex) of a request; ``number`` counts the answers to one conversation."""
    return digest(messages_digest(messages), to_json(identity, indent=None), str(number))


class AnswerCache:
    """A folder of answers.

    Args:
        folder: made when the first answer is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> Completion | None:
        """The answer kept under ``key``; None if there is none that can be read."""
        try:
            found = read_json(self._path(key))
            return Completion(**found["completion"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, completion: Completion, messages: str) -> None:
        """Keep an answer with the digest of its conversation; on disk when this returns."""
        record = {"completion": dataclasses.asdict(completion), "messages": messages}
        write_json(record, self._path(key))

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"
