"""Small models with random weights, one per architecture of the paper's Tables 11-13.

Written as a published model is: safetensors, a tokenizer, the configuration files that decide how
it is loaded. The same seed gives the same weights.
"""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from helpers.tiny import tiny_tables

WIDTH = 32
SHAPE = {"hidden_size": WIDTH, "num_hidden_layers": 3, "num_attention_heads": 2}
SHAPE |= {"intermediate_size": 48, "max_position_embeddings": 600}
ROPE = SHAPE | {"num_key_value_heads": 1, "head_dim": 16}
PAD, UNK, BEGIN, END, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
SPECIAL = (PAD, UNK, BEGIN, END, MASK, "[unused0]", "[unused1]")


def words() -> list[str]:
    """Every word of the tiny edition, and a few for prompts."""
    tables = tiny_tables()
    texts = tables["corpus"]["text"].to_pylist() + tables["queries"]["query"].to_pylist()
    split = pre_tokenizers.BertPreTokenizer()
    found = {word for text in texts for word, _ in split.pre_tokenize_str(text.lower())}
    return sorted(found | {"instruct", "query", "given", "a", "fashion", "product", "search"})


def write_tokenizer(folder: Path, template: str, **settings: Any) -> Any:
    """A word-level tokenizer that lays out texts by a template such as "[CLS] $A [SEP]"."""
    vocabulary = [*SPECIAL, *string.punctuation, *words()]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(vocabulary))}
    backend = Tokenizer(models.WordLevel(numbers, unk_token=UNK))
    backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single=template,
        pair=f"{template} $B:1 {END}:1",
        special_tokens=[(token, numbers[token]) for token in (BEGIN, END)],
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token=UNK,
        pad_token=PAD,
        cls_token=BEGIN,
        sep_token=END,
        mask_token=MASK,
        eos_token=END,
        **settings,
    )
    tokenizer.save_pretrained(folder)
    return tokenizer


def write_model(
    folder: Path, cls: Any, config: Any, *, template: str = "[CLS] $A [SEP]", **settings: Any
) -> Path:
    """Random weights of an architecture, with a tokenizer, as safetensors."""
    tokenizer = write_tokenizer(folder, template, **settings)
    torch.manual_seed(7)
    config.vocab_size = len(tokenizer)
    config.pad_token_id = tokenizer.pad_token_id
    model = cls(config).eval()
    with torch.no_grad():
        for weight in model.parameters():  # the usual small weights make all texts alike
            weight.copy_(torch.randn_like(weight) * 0.3)
    model.save_pretrained(folder)
    return folder


def bert(folder: Path, cls: Any = None, **settings: Any) -> Path:
    """Contriever's architecture, or another head on it."""
    config = transformers.BertConfig(**SHAPE, **settings)
    return write_model(folder, cls or transformers.BertModel, config)


def roberta(folder: Path) -> Path:
    """RoBERTa's and SimCSE's, with its pooler."""
    return write_model(folder, transformers.RobertaModel, transformers.RobertaConfig(**SHAPE))


def headless(folder: Path) -> Path:
    """RoBERTa as a masked language model is published: without a pooler."""
    return write_model(folder, transformers.RobertaForMaskedLM, transformers.RobertaConfig(**SHAPE))


def qwen(folder: Path) -> Path:
    """Qwen3-Embedding's: the tokenizer appends the end token."""
    config = transformers.Qwen3Config(**ROPE)
    return write_model(folder, transformers.Qwen3Model, config, template="$A [SEP]")


def mistral(folder: Path, *, appends_end: bool) -> Path:
    """E5-Mistral's and SFR's: a begin token, and an end token if the tokenizer appends one."""
    template = "[CLS] $A [SEP]" if appends_end else "[CLS] $A"
    config = transformers.MistralConfig(**ROPE, sliding_window=None)
    return write_model(folder, transformers.MistralModel, config, template=template)


def sentence_t5(folder: Path, out: int = 24) -> Path:
    """Sentence-T5's: an encoder, mean pooling and a projection without bias."""
    config = transformers.T5Config(
        d_model=WIDTH, d_kv=16, d_ff=48, num_layers=2, num_heads=2, decoder_start_token_id=0
    )
    write_model(folder, transformers.T5EncoderModel, config, template="$A [SEP]")
    modules = sentence_modules("Transformer", "Pooling", "Dense")
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    from sentence_transformers.base.modules import Dense

    torch.manual_seed(8)
    dense = Dense(WIDTH, out, bias=False, activation_function=torch.nn.Identity())
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    (folder / "2_Dense").mkdir()
    dense.save(str(folder / "2_Dense"))
    return folder


def sentence_modules(*names: str) -> list[dict[str, Any]]:
    """The ``modules.json`` of a chain."""
    return [
        {
            "idx": number,
            "name": str(number),
            "path": "" if number == 0 else f"{number}_{name}",
            "type": f"sentence_transformers.models.{name}",
        }
        for number, name in enumerate(names)
    ]


def splade(folder: Path) -> Path:
    """SPLADE's: a masked language model."""
    return bert(folder, transformers.BertForMaskedLM)


def cross_encoder(folder: Path, outputs: int = 1) -> Path:
    """A classification head on BERT."""
    return bert(folder, transformers.BertForSequenceClassification, num_labels=outputs)


def colbert(folder: Path, dim: int = 16) -> Path:
    """ColBERTv2's as Stanford publishes it: the projection lies beside the encoder's weights."""
    from safetensors.torch import load_file, save_file

    bert(folder)
    weights = load_file(folder / "model.safetensors")
    weights = {f"bert.{name}": value for name, value in weights.items()}
    torch.manual_seed(9)
    weights["linear.weight"] = torch.randn(dim, WIDTH)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["architectures"] = ["HF_ColBERT"]
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    metadata = {
        "query_token_id": "[unused0]",
        "doc_token_id": "[unused1]",
        "query_maxlen": 20,
        "doc_maxlen": 300,
        "mask_punctuation": True,
        "attend_to_mask_tokens": False,
    }
    (folder / "artifact.metadata").write_text(json.dumps(metadata), encoding="utf-8")
    return folder


def open_clip(folder: Path) -> Path:
    """CLIP in open_clip's format, as Marqo publishes its models."""
    library = pytest.importorskip("open_clip", reason="needs the siglip extra")
    from safetensors.torch import save_file

    folder.mkdir()
    size = len(write_tokenizer(folder, "[CLS] $A [SEP]"))
    config = {
        "embed_dim": 24,
        "vision_cfg": {
            "image_size": 32,
            "layers": 2,
            "width": WIDTH,
            "patch_size": 16,
            "head_width": 16,
        },
        "text_cfg": {
            "context_length": 16,
            "vocab_size": size,
            "width": WIDTH,
            "heads": 2,
            "layers": 2,
            "hf_tokenizer_name": "owner/model",
        },
    }
    torch.manual_seed(7)
    weights = library.CLIP(**config).state_dict()
    weights = {name: value.contiguous() for name, value in weights.items()}
    save_file(weights, folder / "open_clip_model.safetensors")
    half = [0.5, 0.5, 0.5]
    layout = {"model_cfg": config, "preprocess_cfg": {"mean": half, "std": half, "size": [32, 32]}}
    (folder / "open_clip_config.json").write_text(json.dumps(layout), encoding="utf-8")
    return folder
