"""Figure 1 as a whole: the paper's claims, the parameters, every choice of parts."""

import itertools

import pytest
import torch

from headway.config import ModelSettings
from headway.errors import RequestError
from headway.models.build import build
from headway.models.model import count_parameters
from headway.models.presets import PRESETS, build_architecture
from headway.models.transformer import Transformer
from headway.nn.attention import MultiHeadAttention, record_attention

SMALL = {"n_layers": 2, "d_model": 16, "d_ff": 32, "n_heads": 2, "dropout": 0.0}


def make(shared: bool = True, **changes) -> Transformer:
    settings = ModelSettings(**{**SMALL, **changes})
    return build(build_architecture(settings, source_vocab=20, target_vocab=20, shared=shared)).eval()


@pytest.mark.parametrize(("preset", "millions"), [("base", 63.1), ("big", 214.2)])
def test_parameters_with_37000_shared_pieces(preset, millions):
    architecture = build_architecture(ModelSettings(preset=preset), source_vocab=37_000, target_vocab=37_000, shared=True)
    with torch.device("meta"):
        assert round(count_parameters(Transformer(architecture)) / 1e6, 1) == millions


def test_presets_are_the_papers_and_ours():
    sizes = {name: (p.n_layers, p.d_model, p.d_ff, p.n_heads) for name, p in PRESETS.items()}
    assert sizes == {
        "mini": (2, 128, 256, 4),
        "tiny": (4, 128, 256, 4),
        "small": (6, 256, 1024, 4),
        "base": (6, 512, 2048, 8),
        "big": (6, 1024, 4096, 16),
    }


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_no_output_depends_on_a_later_target_token(norm):
    model, source, target = make(norm=norm), torch.randint(4, 20, (2, 5)), torch.randint(4, 20, (2, 6))
    before = model(source, target)
    for place in range(1, 6):
        changed = target.clone()
        changed[:, place:] = torch.randint(4, 20, changed[:, place:].shape)
        torch.testing.assert_close(model(source, changed)[:, :place], before[:, :place])
    changed = target.clone()
    changed[:, 0] = (target[:, 0] - 4 + 1) % 16 + 4
    assert not torch.allclose(model(source, changed)[:, 5], before[:, 5])


def test_without_positions_the_encoder_is_equivariant_to_permutation():
    source, order = torch.randint(4, 20, (1, 7)), torch.randperm(7)
    bag, sequence = make(positions="none"), make()
    torch.testing.assert_close(bag.encode(source[:, order])[0], bag.encode(source)[0][:, order])
    assert not torch.allclose(sequence.encode(source[:, order])[0], sequence.encode(source)[0][:, order], atol=1e-3)


def test_padding_changes_nothing():
    model, source, target = make(), torch.randint(4, 20, (1, 4)), torch.randint(4, 20, (1, 5))
    padded = torch.cat([source, torch.zeros(1, 3, dtype=torch.long)], dim=1)
    torch.testing.assert_close(model(padded, target), model(source, target))


@pytest.mark.parametrize(
    ("norm", "positions", "activation", "tie"),
    list(itertools.product(["post", "pre"], ["sinusoidal", "learned", "none"], ["relu", "gelu"], ["all", "target", "none"])),
)
def test_every_choice_of_parts_computes_and_learns(norm, positions, activation, tie):
    model = make(norm=norm, positions=positions, activation=activation, tie=tie, d_k=5, d_v=3).train()
    logits = model(torch.randint(4, 20, (2, 5)), torch.randint(4, 20, (2, 3)))
    assert logits.shape == (2, 3, 20)
    logits.square().mean().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())


def test_without_the_scale_queries_are_as_if_sqrt_d_k_times_as_long():
    scaled, unscaled = make(), make(scale_attention=False)
    unscaled.load_state_dict(scaled.state_dict())
    source, target = torch.randint(4, 20, (2, 5)), torch.randint(4, 20, (2, 4))
    assert not torch.allclose(scaled(source, target), unscaled(source, target))
    for part in scaled.modules():
        if isinstance(part, MultiHeadAttention):
            width = part.n_heads * part.d_k
            part.input.weight.data[:width] *= part.d_k**0.5
            part.input.bias.data[:width] *= part.d_k**0.5
    torch.testing.assert_close(unscaled(source, target), scaled(source, target))


def test_ties_share_one_matrix():
    three, two, none = make(tie="all"), make(tie="target"), make(tie="none")
    assert three.source_embedding.weight is three.target_embedding.weight is three.output.weight
    assert two.source_embedding.weight is not two.target_embedding.weight
    assert two.target_embedding.weight is two.output.weight
    assert none.target_embedding.weight is not none.output.weight


def test_embeddings_are_scaled_by_sqrt_d_model():
    model = make()
    torch.testing.assert_close(model.source_embedding(torch.tensor([[7]]))[0, 0], model.source_embedding.weight[7] * 4.0)


def test_initial_weights_depend_on_the_seed_alone_and_leave_the_generator_alone():
    architecture = make().architecture
    torch.manual_seed(3)
    state = torch.get_rng_state()
    one, same, other = build(architecture, seed=1), build(architecture, seed=1), build(architecture, seed=2)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(one.output.weight, same.output.weight)
    assert not torch.equal(one.output.weight, other.output.weight)


def test_initial_values_have_the_scale_they_should():
    a = build_architecture(
        ModelSettings(d_model=128, n_heads=4, d_ff=256, n_layers=1), source_vocab=500, target_vocab=500, shared=True
    )
    model = build(a)
    attention = model.encoder.layers[0].attention
    assert model.output.weight.std().item() == pytest.approx(128**-0.5, rel=0.05)
    bound = (6 / (128 + 128)) ** 0.5  # Xavier of W^Q alone, not of the three in one
    assert attention.input.weight.abs().max().item() == pytest.approx(bound, rel=0.01)


def test_what_cannot_be_built_is_said():
    with pytest.raises(RequestError, match="d_model 16 is not a multiple of n_heads 3"):
        make(n_heads=3)
    with pytest.raises(RequestError, match="two vocabularies"):
        make(shared=False, tie="all")


TABLE_3 = [  # row B and C of the paper, and its parameters in millions
    ({}, 65),
    ({"d_k": 16}, 58),
    ({"d_k": 32}, 60),
    ({"n_layers": 2}, 36),
    ({"n_layers": 4}, 50),
    ({"n_layers": 8}, 80),
    ({"d_model": 256, "d_k": 32, "d_v": 32}, 28),
    ({"d_model": 1024, "d_k": 128, "d_v": 128}, 168),
    ({"d_ff": 1024}, 53),
    ({"d_ff": 4096}, 90),
]


@pytest.mark.parametrize(("changes", "millions"), TABLE_3)
def test_table_3_counts_are_those_of_41000_rows_of_embeddings(changes, millions):
    """The paper says about 37,000 pieces; its counts are all those of 41,000, to the million (docs/paper.md, 6.2)."""
    settings = ModelSettings(preset="base", **changes)
    architecture = build_architecture(settings, source_vocab=41_000, target_vocab=41_000, shared=True)
    with torch.device("meta"):
        assert round(count_parameters(Transformer(architecture)) / 1e6) == millions


def test_dropout_falls_on_embeddings_plus_positions():
    """Section 5.4. With the stacks taken out, what comes through is the sum itself, or nothing of it."""
    model, source = make(dropout=0.5, norm="post"), torch.randint(4, 20, (1, 50))
    model.encoder.layers = torch.nn.ModuleList()
    whole = model.source_embedding(source) + model.positions(0, 50)
    torch.testing.assert_close(model.encode(source)[0], whole)
    found = model.train().encode(source)[0]
    dropped = found == 0
    assert 0.4 < dropped.float().mean().item() < 0.6
    torch.testing.assert_close(found[~dropped], 2 * whole[~dropped])


def test_one_layer_joins_every_two_positions():
    """Table 1, path length 1: a position's output depends on every position of its sentence, and on every source position."""
    model, x, target = make(n_layers=1), torch.randn(1, 30, 16, requires_grad=True), torch.randint(4, 20, (1, 3))
    last = model.encoder(x, None)[0, -1]
    (grad,) = torch.autograd.grad((last * torch.arange(16)).sum(), x)
    assert (grad[0].norm(dim=-1) > 0).all()
    first = model.decode(target, model.decoder.start(x, None))[0][0, 0]
    (grad,) = torch.autograd.grad((first * torch.arange(16)).sum(), x)
    assert (grad[0].norm(dim=-1) > 0).all()


def test_the_output_is_the_embedding_matrix_without_its_scale():
    model, x = make(), torch.randn(3, 16)
    torch.testing.assert_close(model.output.logits(x), x @ model.source_embedding.weight.T)


@pytest.mark.parametrize("kind", ["attention_dropout", "activation_dropout", "word_dropout"])
def test_each_kind_of_dropout_is_of_training_alone_and_drawn_from_torchs_seed(kind):
    plain, dropping = make(), make(**{kind: 0.4})
    source, target = torch.randint(4, 20, (2, 5)), torch.randint(4, 20, (2, 4))
    assert torch.equal(dropping(source, target), plain(source, target))
    dropping.train()

    def logits(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return dropping(source, target)

    assert not torch.allclose(logits(1), plain(source, target))
    assert torch.equal(logits(1), logits(1)) and not torch.equal(logits(1), logits(2))


def test_recorded_weights_are_those_before_dropout_and_its_output_that_after_it():
    model = make(attention_dropout=0.4).train()
    source, target = torch.randint(4, 20, (2, 5)), torch.randint(4, 20, (2, 4))
    torch.manual_seed(1)
    plain = model(source, target)
    torch.manual_seed(1)
    with record_attention(model) as weights:
        torch.testing.assert_close(model(source, target), plain)
    for found in weights.values():
        torch.testing.assert_close(found.sum(dim=-1), torch.ones(found.shape[:-1]))


def test_words_are_hidden_whole_and_the_others_keep_their_mean():
    embedding = make(word_dropout=0.25).train().source_embedding
    tokens = torch.full((50, 40), 7)
    hidden = (embedding(tokens) == 0).all(dim=-1)
    assert hidden.float().mean().item() == pytest.approx(0.25, abs=0.03)
    vector = embedding.eval()(tokens)[0, 0]
    torch.testing.assert_close(embedding.train()(tokens).mean(dim=(0, 1)), vector, rtol=0.05, atol=0)
