"""What calls to a language model may cost, and how fast they may follow each other.

In:  limits in tokens, money, requests per minute and tokens per minute.
Out: permission to call, at once or after a wait, or LLMError when the budget does not allow it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fashion_rq_bench.builders.queries.llm.config import LLMConfig
from fashion_rq_bench.errors import LLMError

__all__ = ["Budget", "RateLimit", "Spending"]

_MINUTE = 60.0


@dataclass
class Spending:
    """Tokens, and calls that were paid for."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def add(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Count one call."""
        self.calls += 1
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens


class Budget:
    """Keeps a run within ``max_cost`` and ``max_tokens``.

    A call is admitted only if even its longest answer fits beside all that is spent and all that
    may yet come of the calls in flight.

    Args:
        config: limits and prices.

    Attributes:
        spent: what this run has paid for.
    """

    def __init__(self, config: LLMConfig) -> None:
        self._config = config
        self._in_flight: list[tuple[int, int]] = []
        self._changed = asyncio.Condition()
        self.spent = Spending()

    @asynccontextmanager
    async def admitted(self, prompt_tokens: int) -> AsyncIterator[None]:
        """Hold room for one call; waits for calls in flight whose answers may leave some.

        Raises:
            LLMError: if the call does not fit, whatever those calls return.
        """
        call = (prompt_tokens, self._config.max_output_tokens)
        async with self._changed:
            while not self._fits([*self._in_flight, call]):
                if not self._in_flight or not self._fits([call]):
                    raise self._spent_up()
                await self._changed.wait()
            self._in_flight.append(call)
        try:
            yield
        finally:
            async with self._changed:
                self._in_flight.remove(call)
                self._changed.notify_all()

    def _fits(self, calls: list[tuple[int, int]]) -> bool:
        prompt = self.spent.prompt_tokens + sum(call[0] for call in calls)
        completion = self.spent.completion_tokens + sum(call[1] for call in calls)
        limits = (
            (prompt + completion, self._config.max_tokens),
            (self._config.cost(prompt, completion), self._config.max_cost),
        )
        return all(limit is None or value <= limit for value, limit in limits)

    @property
    def cost(self) -> float:
        """Money spent by this run; NaN if the prices are not known."""
        return self._config.cost(self.spent.prompt_tokens, self.spent.completion_tokens)

    def _spent_up(self) -> LLMError:
        limits = {"max_cost": self._config.max_cost, "max_tokens": self._config.max_tokens}
        money = "" if math.isnan(self.cost) else f" for {self.cost:.4f}"
        tokens = self.spent.prompt_tokens + self.spent.completion_tokens
        return LLMError(
            f"The budget does not allow another call after {self.spent.calls:,} calls and "
            f"{tokens:,} tokens{money}.",
            given={name: value for name, value in limits.items() if value is not None},
            fix="Raise the limit and run the same command again: every answer so far is kept and "
            "is not paid for twice.",
        )


class RateLimit:
    """Spaces calls so that neither requests nor tokens per minute are exceeded.

    Each limit is a bucket that holds one minute's worth at most and refills steadily.

    Args:
        config: the limits.
        clock: seconds, monotonic.
    """

    def __init__(self, config: LLMConfig, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets = [
            _Bucket(limit, clock())
            for limit in (config.requests_per_minute, config.tokens_per_minute)
        ]
        self._paused_until = -math.inf

    def pause(self, seconds: float) -> None:
        """Hold all calls back for so long, since the server asked for it."""
        self._paused_until = max(self._paused_until, self._clock() + seconds)

    async def turn(self, tokens: int) -> None:
        """Return when a call of so many tokens may start."""
        now = self._clock()
        waits = [bucket.take(n, now) for bucket, n in zip(self._buckets, (1, tokens), strict=True)]
        await asyncio.sleep(max(waits))
        while (left := self._paused_until - self._clock()) > 0:
            await asyncio.sleep(left)


class _Bucket:
    def __init__(self, limit: float | None, now: float) -> None:
        self._limit = limit
        self._level = limit or 0.0
        self._seen = now

    def take(self, amount: float, now: float) -> float:
        """Take ``amount`` and return the seconds until it is there; the level may go below 0."""
        if self._limit is None:
            return 0.0
        refill = self._limit / _MINUTE
        self._level = min(self._limit, self._level + (now - self._seen) * refill)
        self._seen = now
        self._level -= amount
        return max(0.0, -self._level / refill)
