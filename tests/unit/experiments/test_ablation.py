"""Changes that a user names, as the settings that they mean."""

from pathlib import Path

import pytest
from small_models import write_model

from headway.config import build_settings
from headway.errors import RequestError
from headway.experiments.ablation import list_variants, parse_changes
from headway.experiments.experiment import Request
from headway.experiments.variants import vary


def ask(*words: str) -> Request:
    data = {"train": ["data/train"], "from": "en", "to": "de"}
    return Request(build_settings({"data": data, "model": {"preset": "tiny"}}), Path("ablation"), vary=words)


def test_each_is_a_row_of_its_own_name():
    request = ask("dropout=0.1", "norm=post warmup=2000", "--d_model=64 --no-repeat-ngram=3", "shared=false")
    base, dropout, norm, width, apart = list_variants(request)
    assert [one.name for one in (base, dropout, norm, width, apart)] == ["base", *request.vary]
    assert vary(request.settings, base) == request.settings
    assert vary(request.settings, dropout).model.dropout == 0.1
    changed = vary(request.settings, norm)
    assert (changed.model.norm, changed.training.warmup) == ("post", 2000)
    assert vary(request.settings, width).decoding.no_repeat_ngram == 3
    assert vary(request.settings, apart).tokenizer.shared is False


def test_values_may_have_spaces_and_lists_one_value():
    assert parse_changes("train='my text.tsv'") == {("data", "train"): ["my text.tsv"]}
    assert parse_changes("train=a.tsv train=b.tsv") == {("data", "train"): ["a.tsv", "b.tsv"]}


def test_a_model_to_begin_with_has_its_own_size(tmp_path: Path):
    model = write_model(tmp_path / "model")
    request = ask(f"init={model}")
    assert [vary(request.settings, one).model.preset for one in list_variants(request)] == ["tiny", None]
    with pytest.raises(RequestError, match="has its own shape"):
        list_variants(ask(f"init={model} preset=small"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("droput=0.1", "no setting droput. Did you mean dropout?"),
        ("dropout", "'dropout' is no change"),
        ("dropout=", "is no change"),
        ("dropout=2", "dropout=2: Setting model.dropout"),
        ("n-heads=3", "not a multiple of n_heads 3"),
        ("hidden=0.2", "has no --hidden"),
        ("seed=4", "--seeds"),
        ("dropout=0.1 dropout=0.2", "has dropout twice"),
        ("monolingual-target=more.de", "Leave out --monolingual-target"),
        ("to=de,fr", "one direction"),
        ("family=t5", "the paper's model"),
        (" ", "names no change"),
        ("train='x", "No closing quotation"),
    ],
)
def test_what_is_no_change(words: str, told: str):
    with pytest.raises(RequestError) as error:
        list_variants(ask(words))
    assert told in str(error.value)
