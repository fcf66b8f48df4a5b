"""Language models behind one port.

In:  a conversation.
Out: a :class:`~.llm_cache.Completion`; TransientError for a failure that may pass; LLMError for one
     that will not.

Two backends: any endpoint that speaks OpenAI's chat protocol, through the ``openai`` client, and a
transformers model on this machine (``llm_local.py``). Answers are streamed, so that what arrived
before a connection broke is kept.
"""

from __future__ import annotations

import asyncio
import email.utils
import importlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from fashion_rq_bench.builders.queries.llm.cache import Completion
from fashion_rq_bench.builders.queries.llm.config import LLMConfig
from fashion_rq_bench.builders.queries.llm.prompt import estimate_tokens
from fashion_rq_bench.errors import LLMError
from fashion_rq_bench.support.optional import require

__all__ = ["ChatModel", "OpenAIChat", "TransientError", "load_model"]

Messages = Sequence[Mapping[str, str]]
Schema = Mapping[str, Any]

_OPTIONS = {
    "response_format": ("response_format", "json_schema", "schema"),
    "stream_options": ("stream_options",),
    "max_tokens": ("max_tokens",),
}
"""What not every server takes, and the words by which a refusal names it."""
_PASSING = frozenset({408, 409, 425, 429})
_CHARACTERS_PER_TOKEN = 12
_NO_KEY = "none"


class TransientError(Exception):
    """A request that failed in transit.

    Attributes:
        wait: seconds that the server asked for, if it did.
        paid: whether the server may charge for the prompt all the same.
    """

    def __init__(self, problem: str, *, wait: float | None = None, paid: bool = False) -> None:
        super().__init__(problem)
        self.wait = wait
        self.paid = paid


class ChatModel(Protocol):
    """What answers conversations."""

    async def complete(self, messages: Messages, schema: Schema) -> Completion:
        """Answer one conversation; ``schema`` (JSON) says what the answer should look like."""
        ...

    async def close(self) -> None:
        """Give back connections or memory."""
        ...


def load_model(config: LLMConfig, api_key: str | None = None) -> ChatModel:
    """The model that a configuration names.

    Args:
        config: backend, endpoint and model.
        api_key: the endpoint's key; from the environment variable ``config.api_key_env`` by
            default. It is sent to the endpoint and goes nowhere else.
    """
    if config.backend == "transformers":
        from fashion_rq_bench.builders.queries.llm.local import TransformersChat

        return TransformersChat(config)
    return OpenAIChat(config, api_key or os.environ.get(config.api_key_env) or _NO_KEY)


@dataclass
class _Arrived:
    """What a stream has brought so far."""

    parts: list[str] = field(default_factory=list)
    characters: int = 0
    finish: str | None = None
    usage: Any = None

    def take(self, chunk: Any) -> None:
        self.usage = chunk.usage or self.usage
        for choice in chunk.choices[:1]:
            text = choice.delta.content or ""
            self.parts.append(text)
            self.characters += len(text)
            self.finish = choice.finish_reason or self.finish


class OpenAIChat:
    """A model behind an OpenAI-compatible endpoint.

    Args:
        config: endpoint, model and parameters.
        api_key: sent as the bearer token.
    """

    def __init__(self, config: LLMConfig, api_key: str) -> None:
        self._openai = require("openai", "build")
        self._config = config
        self._key = api_key
        self._client = self._openai.AsyncOpenAI(
            base_url=config.base_url, api_key=api_key, max_retries=0, timeout=config.timeout
        )
        self._refused: set[str] = set()
        self._broken = (self._openai.APIError, *_transport_errors())

    async def complete(self, messages: Messages, schema: Schema) -> Completion:
        """Answer one conversation; see :class:`ChatModel`.

        Raises:
            TransientError: rate limit, server error, time-out or broken connection, with nothing
                usable received.
            LLMError: anything that another attempt would not mend.
        """
        arrived = _Arrived()
        cut = False
        try:
            async with asyncio.timeout(self._config.timeout):
                await self._receive(messages, schema, arrived)
        except self._openai.APIStatusError as error:
            return await self._after_refusal(error, messages, schema)
        except (TimeoutError, *self._broken) as error:
            cut = True
            if not arrived.characters:
                # a refused connection costs nothing; a request that went out may
                late = isinstance(error, TimeoutError | self._openai.APITimeoutError)
                raise TransientError(self._shown(error), paid=late) from error
        if not arrived.finish and not arrived.characters:
            raise TransientError("The endpoint closed the stream without an answer.", paid=True)
        return self._completion(arrived, messages, cut=cut)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _receive(self, messages: Messages, schema: Schema, arrived: _Arrived) -> None:
        stream = await self._client.chat.completions.create(**self._request(messages, schema))
        longest = self._config.max_output_tokens * _CHARACTERS_PER_TOKEN
        async with stream:
            async for chunk in stream:
                arrived.take(chunk)
                if arrived.characters > longest:  # the server ignores its limit
                    arrived.finish = "length"
                    return

    def _request(self, messages: Messages, schema: Schema) -> dict[str, Any]:
        config = self._config
        request: dict[str, Any] = {
            "model": config.model,
            "messages": list(messages),
            "temperature": config.temperature,
            "top_p": config.top_p,
            "stream": True,
        }
        late = "max_tokens" in self._refused
        request["max_completion_tokens" if late else "max_tokens"] = config.max_output_tokens
        if "stream_options" not in self._refused:
            request["stream_options"] = {"include_usage": True}
        if config.reasoning_effort is not None:
            request["reasoning_effort"] = config.reasoning_effort
        if config.structured and "response_format" not in self._refused:
            form = {"name": "answer", "schema": schema}
            request["response_format"] = {"type": "json_schema", "json_schema": form}
        return request

    async def _after_refusal(self, error: Any, messages: Messages, schema: Schema) -> Completion:
        """Ask again without what the server does not know, or say what is wrong."""
        status = int(error.status_code)
        said = self._shown(error)
        if status in (400, 422):
            for option, words in _OPTIONS.items():
                if option not in self._refused and any(word in said for word in words):
                    self._refused.add(option)
                    return await self.complete(messages, schema)
        if (status in _PASSING or status >= 500) and "insufficient_quota" not in said:
            raise TransientError(said, wait=_retry_after(error.response.headers)) from error
        raise self._fatal(status, said) from error

    def _fatal(self, status: int, said: str) -> LLMError:
        fixes = {
            401: f"Set the environment variable {self._config.api_key_env} to the endpoint's key.",
            403: "The key may not use this model; check it with the endpoint's owner.",
            404: "Check llm.base_url and llm.model.",
        }
        fix = fixes.get(status, "Answers so far are kept; mend this and run the same command.")
        return LLMError(
            f"The language model's endpoint refused the request with status {status}: {said}",
            given=f"{self._config.model} at {self._config.base_url}",
            fix=fix,
        )

    def _shown(self, error: BaseException) -> str:
        """An error's text, without the key and not longer than a paragraph."""
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return (text.replace(self._key, "***") if self._key != _NO_KEY else text)[:300]

    def _completion(self, arrived: _Arrived, messages: Messages, *, cut: bool) -> Completion:
        text, finish = "".join(arrived.parts), _finish(arrived, cut)
        if arrived.usage is not None:
            asked, told = arrived.usage.prompt_tokens, arrived.usage.completion_tokens
            return Completion(text, finish, int(asked), int(told))
        tokens = sum(estimate_tokens(message["content"]) for message in messages)
        return Completion(text, finish, tokens, estimate_tokens(text), counted=False)


def _finish(arrived: _Arrived, cut: bool) -> Literal["stop", "length", "cut"]:
    if arrived.finish == "length":
        return "length"
    return "cut" if cut or arrived.finish is None else "stop"


def _transport_errors() -> tuple[type[Exception], ...]:
    """What the HTTP library under the ``openai`` client raises while a stream is read."""
    found = []
    for name in ("httpx", "httpx2"):
        try:
            found.append(importlib.import_module(name).HTTPError)
        except ModuleNotFoundError:
            continue
    return tuple(found)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from a Retry-After header, given as a number or as a date; None without one."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        date = email.utils.parsedate_tz(value)
        return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else None
