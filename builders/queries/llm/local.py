"""A transformers model on this machine, behind the same port as an endpoint.

In:  a Hub id or a folder with safetensors weights, a conversation.
Out: its answer. Sampling is seeded by the conversation, so that it repeats on the same machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from fashion_rq_bench.builders.queries.llm.cache import Completion, messages_digest
from fashion_rq_bench.builders.queries.llm.config import LLMConfig
from fashion_rq_bench.errors import ModelError
from fashion_rq_bench.support.optional import require

__all__ = ["TransformersChat"]

Messages = Sequence[Mapping[str, str]]

_SEEDS = 2**63


class TransformersChat:
    """A causal language model run here.

    Args:
        config: ``model``, ``revision`` and sampling.

    Raises:
        ModelError: if the model cannot be loaded.
    """

    def __init__(self, config: LLMConfig) -> None:
        transformers = require("transformers", "build")
        self._torch = require("torch", "build")
        self._config = config
        self._turn = asyncio.Lock()
        common = {"revision": config.revision, "trust_remote_code": config.trust_remote_code}
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(config.model, **common)
            self._model = transformers.AutoModelForCausalLM.from_pretrained(
                config.model, use_safetensors=True, **common
            ).eval()
        except (OSError, ValueError) as error:
            raise ModelError(
                f"This language model cannot be loaded: {error}",
                given=config.model,
                fix="Give a Hub id or a folder with config.json, a tokenizer and safetensors.",
            ) from error
        if self._torch.cuda.is_available():
            self._model.to("cuda")

    async def complete(self, messages: Messages, schema: Mapping[str, Any]) -> Completion:
        """Answer one conversation; one at a time, since the model fills the machine.

        ``schema`` is not enforced: what comes back is read leniently.
        """
        async with self._turn:
            return await asyncio.to_thread(self._generate, messages)

    async def close(self) -> None:
        """Let go of the weights."""
        del self._model

    def _generate(self, messages: Messages) -> Completion:
        asked = self._encoded(messages).to(self._model.device)
        length = asked["input_ids"].shape[1]
        with self._torch.random.fork_rng(), self._torch.inference_mode():
            self._torch.manual_seed(int(messages_digest(messages)[:16], 16) % _SEEDS)
            output = self._model.generate(**asked, **self._sampling())
        answer = output[0, length:]
        ended = bool(len(answer)) and int(answer[-1]) in self._ends()
        text = self._tokenizer.decode(answer, skip_special_tokens=True)
        return Completion(text, "stop" if ended else "length", length, len(answer))

    def _encoded(self, messages: Messages) -> Any:
        if self._tokenizer.chat_template is not None:
            return self._tokenizer.apply_chat_template(
                list(messages), add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
        text = "\n\n".join(message["content"] for message in messages) + "\n\n"
        return self._tokenizer(text, return_tensors="pt")

    def _sampling(self) -> dict[str, Any]:
        common = {
            "max_new_tokens": self._config.max_output_tokens,
            "pad_token_id": self._tokenizer.pad_token_id or self._tokenizer.eos_token_id,
        }
        if not self._config.temperature:
            return {**common, "do_sample": False}
        sampled = {"temperature": self._config.temperature, "top_p": self._config.top_p}
        return {**common, "do_sample": True, **sampled}

    def _ends(self) -> set[int]:
        ends = self._model.generation_config.eos_token_id
        return set(ends if isinstance(ends, list) else [ends]) | {self._tokenizer.eos_token_id}
