"""Settings of the language-model port.

In:  a TOML section or the environment.
Out: :class:`LLMConfig`. It never holds a key, only the name of the variable that does, so that it
     can be printed, hashed and published with an edition.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from fashion_rq_bench.errors import ConfigError

__all__ = ["GEMINI", "LLMConfig", "environment_values"]

GEMINI = "https://generativelanguage.googleapis.com/v1beta/openai/"
"""Gemini's OpenAI-compatible endpoint."""

_VARIABLES = {"base_url": "FASHION_RQ_LLM_BASE_URL", "model": "FASHION_RQ_LLM_MODEL"}


def environment_values(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Settings that the environment gives: ``base_url`` and ``model``, where their variables stand.

    Args:
        environment: FASHION_RQ_LLM_BASE_URL and FASHION_RQ_LLM_MODEL are read from it; the
            process's own by default.
    """
    found = os.environ if environment is None else environment
    return {name: found[variable] for name, variable in _VARIABLES.items() if variable in found}


@dataclass(frozen=True)
class LLMConfig:
    """Which model is asked, how, how fast, and for how much.

    Attributes:
        backend: "openai" for any endpoint that speaks OpenAI's chat protocol, "transformers" for a
            model on this machine.
        base_url: the endpoint; not part of an answer's identity.
        model: the endpoint's name of the model; a Hub id or a folder for transformers.
        revision: of a model on the Hub.
        api_key_env: environment variable that holds the key.
        temperature, top_p: sampling, as in the paper.
        reasoning_effort: passed on if set, e.g. "none" to switch a model's thinking off.
        structured: ask for JSON by schema; left out for a server that refuses it.
        prompt_tokens: most tokens (estimated) of a prompt; evidence is dropped to fit.
        max_output_tokens: longest answer.
        concurrency: requests at a time.
        requests_per_minute, tokens_per_minute: the endpoint's limits; None for none.
        timeout: seconds until a request is given up.
        tries: attempts at a request that fails in transit, and longest_wait: seconds between two of
            them at most; a server that asks for more ends the run.
        answers: answers asked for per prompt until one holds enough queries.
        input_price, output_price: per million tokens, in the currency of ``max_cost``; None if not
            known.
        max_cost, max_tokens: most that a run may spend; None for no limit.
        fallback: what writes the queries of a cluster that the model left without any.
        enricher: what reads the intents of the model's queries: the offline "parser", or the model
            itself ("llm"), with the parser for what it leaves out.
        trust_remote_code: run code that a transformers model's repository ships.
    """

    backend: Literal["openai", "transformers"] = "openai"
    base_url: str = GEMINI
    model: str = "gemini-2.5-flash"
    revision: str | None = None
    api_key_env: str = "FASHION_RQ_LLM_API_KEY"
    temperature: float = 0.2
    top_p: float = 0.8
    reasoning_effort: str | None = None
    structured: bool = True
    prompt_tokens: int = 3000
    max_output_tokens: int = 2048
    concurrency: int = 8
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float = 120.0
    tries: int = 8
    longest_wait: float = 120.0
    answers: int = 3
    input_price: float | None = None
    output_price: float | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    fallback: Literal["grammar", "none"] = "grammar"
    enricher: Literal["parser", "llm"] = "parser"
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        for name in ("prompt_tokens", "max_output_tokens", "concurrency", "tries", "answers"):
            if getattr(self, name) < 1:
                raise ConfigError(f"llm.{name} must be at least 1.", given=getattr(self, name))
        for name in ("requests_per_minute", "tokens_per_minute", "timeout", "longest_wait"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigError(f"llm.{name} must be above 0.", given=value)
        for name in ("max_cost", "max_tokens", "input_price", "output_price", "temperature"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ConfigError(f"llm.{name} must not be negative.", given=value)
        if not 0 < self.top_p <= 1:
            raise ConfigError("llm.top_p is a share above 0.", given=self.top_p)
        if self.max_cost is not None and None in (self.input_price, self.output_price):
            raise ConfigError(
                "A limit in money needs the model's prices.",
                given=f"max_cost={self.max_cost}",
                fix="Set llm.input_price and llm.output_price (per million tokens), "
                "or limit llm.max_tokens instead.",
            )

    def with_environment(
        self, environment: Mapping[str, str] | None = None, *, keep: Collection[str] = ()
    ) -> LLMConfig:
        """A copy whose endpoint and model come from the environment where it names them.

        Args:
            environment: see :func:`environment_values`.
            keep: fields that stay as they are.
        """
        found = environment_values(environment)
        return replace(
            self,
            base_url=self.base_url if "base_url" in keep else found.get("base_url", self.base_url),
            model=self.model if "model" in keep else found.get("model", self.model),
        )

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Price of so many tokens; NaN if the prices are not known."""
        if self.input_price is None or self.output_price is None:
            return float("nan")
        return (prompt_tokens * self.input_price + completion_tokens * self.output_price) / 1e6

    @property
    def identity(self) -> dict[str, object]:
        """What, with the messages, decides an answer."""
        return {
            "backend": self.backend,
            "model": self.model,
            "revision": self.revision,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "reasoning_effort": self.reasoning_effort,
            "structured": self.structured,
            "max_output_tokens": self.max_output_tokens,
        }

    @property
    def published(self) -> dict[str, object]:
        """:attr:`identity` and the enricher for a report; a model's folder goes by its name."""
        folder = self.backend == "transformers" and Path(self.model).is_dir()
        model = Path(self.model).name if folder else self.model
        return {**self.identity, "model": model, "enricher": self.enricher}
