"""Calls to a language model: kept answers first, then within limits, with retries.

In:  a conversation and how many queries are enough.
Out: :class:`Asked`: every complete query of every answer received, and what the answers used.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fashion_rq_bench.builders.queries.llm.answers import Answer, parse_answer
from fashion_rq_bench.builders.queries.llm.budget import Budget, RateLimit, Spending
from fashion_rq_bench.builders.queries.llm.cache import (
    AnswerCache,
    Completion,
    messages_digest,
    request_key,
)
from fashion_rq_bench.builders.queries.llm.client import ChatModel, TransientError
from fashion_rq_bench.builders.queries.llm.config import LLMConfig
from fashion_rq_bench.builders.queries.llm.prompt import estimate_tokens
from fashion_rq_bench.builders.queries.llm.prompt_text import ANSWER_SCHEMA
from fashion_rq_bench.errors import LLMError
from fashion_rq_bench.support.optional import require

__all__ = ["Asked", "Caller", "Traffic", "together"]

Messages = Sequence[Mapping[str, str]]
Schema = Mapping[str, Any]
Found = TypeVar("Found")

_FIRST_WAIT = 0.5


@dataclass(frozen=True)
class Asked:
    """What came of asking one conversation, once or several times.

    Attributes:
        completions, answers: as received, and as read.
        failed: why the last call failed, if it did after all retries.
    """

    completions: tuple[Completion, ...] = ()
    answers: tuple[Answer, ...] = ()
    failed: str | None = None

    @property
    def queries(self) -> tuple[str, ...]:
        """The complete queries of all answers, each once."""
        return tuple(dict.fromkeys(query for one in self.answers for query in one.queries))

    @property
    def covered(self) -> frozenset[str]:
        """Product types that the model says a query covers, folded."""
        return frozenset(key.casefold() for one in self.answers for key in one.coverage)


@dataclass
class Traffic:
    """What a run did beyond its result: new calls, kept answers, retries by kind."""

    called: int = 0
    reused: int = 0
    retried: dict[str, int] = field(default_factory=dict)

    def note_retry(self, problem: str) -> None:
        """Count a retry by the name of its error."""
        name = problem.split(":")[0]
        self.retried[name] = self.retried.get(name, 0) + 1


async def together(work: Iterable[Awaitable[Found]]) -> list[Found]:
    """Results of all, in order; if one must stop the run, those in flight end first and are kept.

    Raises:
        LLMError: the first one raised, once all have ended.
    """
    found = await asyncio.gather(*work, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return [one for one in found if not isinstance(one, BaseException)]


class Caller:
    """Asks one model.

    Args:
        config: limits, prices and parameters.
        cache: kept answers.
        connect: makes the model; called at the first request that no kept answer meets, so that a
            finished run is replayed without one.
        told: called after each answer.
    """

    def __init__(
        self,
        config: LLMConfig,
        cache: AnswerCache,
        connect: Callable[[], ChatModel],
        told: Callable[[], None] = lambda: None,
    ) -> None:
        self._config = config
        self._cache = cache
        self._connect = connect
        self._told = told
        self._model: ChatModel | None = None
        self._slots = asyncio.Semaphore(config.concurrency)
        self._rate = RateLimit(config, time.monotonic)
        self._stopped: LLMError | None = None
        self.budget = Budget(config)
        self.traffic = Traffic()

    @property
    def tries(self) -> int:
        """Answers asked for per conversation until one suffices."""
        return self._config.answers

    @property
    def spent(self) -> Spending:
        """What this run paid for."""
        return self.budget.spent

    async def ask(self, messages: Messages, enough: int) -> Asked:
        """Ask until the answers hold ``enough`` complete queries, ``config.answers`` times at most.

        Raises:
            LLMError: if the budget is spent or the endpoint refuses for good; calls in flight
                still end and are kept.
        """
        asked = Asked()
        for number in range(self.tries):
            try:
                completion = await self.answer(messages, number, ANSWER_SCHEMA)
            except TransientError as error:
                return Asked(asked.completions, asked.answers, str(error))
            answer = parse_answer(completion.text, cut=completion.finish != "stop")
            asked = Asked((*asked.completions, completion), (*asked.answers, answer))
            if len(asked.queries) >= enough:
                break
        return asked

    async def close(self) -> None:
        """Close the model, if one was needed."""
        if self._model is not None:
            await self._model.close()

    async def answer(self, messages: Messages, number: int, schema: Schema) -> Completion:
        """Answer ``number`` (from 0) to a conversation: the kept one, else a new one.

        Raises:
            TransientError: if it failed in transit, after all retries.
            LLMError: see :meth:`ask`.
        """
        key = request_key(messages, self._config.identity, number)
        kept = self._cache.get(key)
        if kept is not None:
            self.traffic.reused += 1
            self._told()
            return kept
        async with self._slots:
            if self._stopped is not None:
                raise self._stopped
            try:
                completion = await self._call(messages, schema)
            except LLMError as error:
                self._stopped = error
                raise
            self._cache.put(key, completion, messages_digest(messages))
        self._told()
        return completion

    async def _call(self, messages: Messages, schema: Schema) -> Completion:
        """One answer, through retries with jittered back-off."""
        tenacity = require("tenacity", "build")
        retrying = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(self._config.tries),
            wait=self._wait,
            retry=tenacity.retry_if_exception_type(TransientError),
            before_sleep=lambda state: self.traffic.note_retry(str(state.outcome.exception())),
            reraise=True,
        )
        try:
            completion: Completion = await retrying(self._once, messages, schema)
        except TransientError as error:
            if self.traffic.called:
                raise
            raise self._unreachable(error) from error
        self.traffic.called += 1
        return completion

    async def _once(self, messages: Messages, schema: Schema) -> Completion:
        """One attempt, within budget and rate."""
        tokens = sum(estimate_tokens(message["content"]) for message in messages)
        async with self.budget.admitted(tokens):
            await self._rate.turn(tokens + self._config.max_output_tokens)
            try:
                completion = await self._connected().complete(messages, schema)
            except TransientError as error:
                if error.paid:
                    self.spent.add(tokens, 0)
                self._heed(error)
                raise
            self.spent.add(completion.prompt_tokens, completion.completion_tokens)
        return completion

    def _connected(self) -> ChatModel:
        if self._model is None:
            self._model = self._connect()
        return self._model

    def _heed(self, error: TransientError) -> None:
        """Pause all calls as long as the server asks; give up if it asks for too much."""
        if error.wait is None:
            return
        if error.wait > self._config.longest_wait:
            raise LLMError(
                f"The language model's endpoint asks to wait {error.wait:.0f} s: {error}",
                given=f"longest_wait={self._config.longest_wait:g}",
                fix="Run the same command again later; answers so far are kept.",
            )
        self._rate.pause(error.wait)

    def _wait(self, state: Any) -> float:
        """Seconds before the next attempt: what the server asks for, or doubling; jittered."""
        tenacity = require("tenacity", "build")
        asked = state.outcome.exception().wait
        if asked is not None:
            return float(asked + tenacity.wait_random(0, _FIRST_WAIT)(state))
        longest = self._config.longest_wait
        return float(tenacity.wait_random_exponential(_FIRST_WAIT, max=longest)(state))

    def _unreachable(self, error: TransientError) -> LLMError:
        return LLMError(
            f"The language model did not answer {self._config.tries} times, and never before: "
            f"{error}",
            given=f"{self._config.model} at {self._config.base_url}",
            fix="Check llm.base_url, the network and the endpoint's state.",
        )
