"""The exclusivity loss equals the plain form over all pairs, in value and in every gradient."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import normalize

from fashion_rq_bench.builders.rqvae import exclusivity_loss


def plain(vectors: Tensor, labels: list[Tensor], temperature: float = 0.07) -> Tensor:
    """SupCon, the logarithm inside the sum over positives, straight from the definition."""
    columns = []
    for column in labels:
        known = column >= 0
        q, y = normalize(vectors[known], dim=1), column[known]
        itself = torch.eye(len(y), dtype=torch.bool)
        positive = (y[:, None] == y[None, :]) & ~itself
        anchors = positive.any(1)
        if not anchors.any():
            continue
        similarity = q @ q.T / temperature
        denominator = torch.logsumexp(similarity.masked_fill(itself, -math.inf), 1, keepdim=True)
        log_softmax = (similarity - denominator).masked_fill(~positive, 0.0)
        loss = -log_softmax.sum(1) / positive.sum(1).clamp(min=1)
        columns.append(loss[anchors].mean())
    return torch.stack(columns).mean() if columns else vectors.sum() * 0


def case(
    seed: int, batch: int, codes: int, n_labels: int, columns: int, null: float, dtype=torch.float64
):
    generator = torch.Generator().manual_seed(seed)
    codebook = torch.randn(codes, 5, generator=generator, dtype=torch.float64).to(dtype)
    residuals = torch.randn(batch, 5, generator=generator, dtype=torch.float64).to(dtype)
    code = torch.randint(codes, (batch,), generator=generator)
    labels = []
    for _ in range(columns):
        y = torch.randint(n_labels, (batch,), generator=generator)
        labels.append(torch.where(torch.rand(batch, generator=generator) < null, -1, y))
    return codebook.requires_grad_(), residuals.requires_grad_(), code, labels


def both(codebook: Tensor, residuals: Tensor, code: Tensor, labels: list[Tensor], through: bool):
    """Value and gradients, ours and the plain form's in float64."""
    ours = exclusivity_loss(codebook, code, labels, residuals=residuals if through else None)
    wanted = [codebook, residuals] if through else [codebook]
    gradients = torch.autograd.grad(ours, wanted)
    book = codebook.detach().double().requires_grad_()
    rest = residuals.detach().double().requires_grad_()
    vectors = book[code]
    if through:
        vectors = vectors + rest - rest.detach()
    reference = plain(vectors, labels)
    expected = torch.autograd.grad(reference, [book, rest] if through else [book])
    return ours, gradients, reference, expected


shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "batch": st.integers(1, 40),
        "codes": st.integers(1, 12),
        "n_labels": st.integers(1, 50),
        "columns": st.integers(1, 4),
        "null": st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    }
)


@pytest.mark.parametrize("through", [False, True])
@settings(max_examples=120, deadline=None)
@given(shape=shapes)
def test_equals_the_plain_form_in_float64(through: bool, shape: dict) -> None:
    ours, gradients, reference, expected = both(*case(**shape), through=through)
    torch.testing.assert_close(ours, reference, rtol=1e-12, atol=1e-12)
    for ours_g, plain_g in zip(gradients, expected, strict=True):
        torch.testing.assert_close(ours_g, plain_g, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("through", [False, True])
@settings(max_examples=80, deadline=None)
@given(shape=shapes)
def test_equals_the_plain_form_in_float32(through: bool, shape: dict) -> None:
    ours, gradients, reference, expected = both(
        *case(**shape, dtype=torch.float32), through=through
    )
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours.double(), reference, rtol=1e-6, atol=1e-6)
    for ours_g, plain_g in zip(gradients, expected, strict=True):
        scale = float(plain_g.abs().max()) if plain_g.numel() else 0.0
        torch.testing.assert_close(
            ours_g.double(), plain_g, rtol=1e-6, atol=1e-6 * max(scale, 1e-3)
        )


@pytest.mark.parametrize("through", [False, True])
@pytest.mark.parametrize(
    ("codes", "labels"),
    [
        ([0, 1, 2, 1], [3, 3, 3, 3]),  # all the same label
        ([0, 0, 0, 0], [0, 0, 1, 1]),  # one code
        ([0, 0, 1, 1], [0, 1, 0, 1]),
        ([2, 0, 1, 1], [7, 7, -1, -1]),  # empty classes, nulls
        ([0, 1], [5, 5]),  # a pair only
    ],
)
def test_edge_batches(codes: list[int], labels: list[int], through: bool) -> None:
    codebook, residuals, _, _ = case(0, len(codes), 4, 1, 1, 0.0)
    tensors = (codebook, residuals, torch.tensor(codes), [torch.tensor(labels)])
    ours, gradients, reference, expected = both(*tensors, through=through)
    torch.testing.assert_close(ours, reference, rtol=1e-12, atol=1e-14)
    for ours_g, plain_g in zip(gradients, expected, strict=True):
        torch.testing.assert_close(ours_g, plain_g, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("labels", [[-1, -1, -1], [0, 1, 2], [0, -1, 1]])
def test_without_a_positive_pair_it_is_zero_with_a_graph(labels: list[int]) -> None:
    codebook, residuals, _, _ = case(1, 3, 4, 1, 1, 0.0)
    loss = exclusivity_loss(
        codebook, torch.tensor([0, 1, 1]), [torch.tensor(labels)], residuals=residuals
    )
    assert float(loss.detach()) == 0.0
    for gradient in torch.autograd.grad(loss, [codebook, residuals]):
        assert not gradient.any()


def test_by_hand() -> None:
    """Two orthogonal codes, three items: (a, 0), (a, 0), (b, 1). Two anchors, each sees itself's
    twin at similarity 1 and the other at 0, so each loses log(e^(1/τ) + 1) - 1/τ."""
    loss = exclusivity_loss(
        torch.tensor([[3.0, 0.0], [0.0, 0.5]], dtype=torch.float64),
        torch.tensor([0, 0, 1]),
        [torch.tensor([0, 0, 1])],
        temperature=1.0,
    )
    assert float(loss) == pytest.approx(math.log(math.e + 1) - 1, rel=1e-12)


def test_a_column_without_pairs_leaves_the_mean() -> None:
    codebook, _, code, labels = case(3, 20, 6, 4, 1, 0.0)
    alone = exclusivity_loss(codebook, code, labels)
    distinct = torch.arange(20)
    assert torch.equal(alone, exclusivity_loss(codebook, code, [*labels, distinct]))


def test_label_names_do_not_matter() -> None:
    codebook, _, code, labels = case(4, 30, 6, 5, 2, 0.2)
    renamed = [torch.where(y < 0, y, (y * 7 + 3) % 1009) for y in labels]
    torch.testing.assert_close(
        exclusivity_loss(codebook, code, labels), exclusivity_loss(codebook, code, renamed)
    )


def test_columns_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        exclusivity_loss(torch.eye(2), torch.tensor([0, 1]), [torch.tensor([0])])
