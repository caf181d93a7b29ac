"""A Marian release as a bundle: it computes what Marian's formulas say, and what does not fit is named."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import yaml
from marian_models import MODEL, PLAIN, PRENORM, SEPARATE, UNTIED, VOCABULARY, list_vocabularies, write_arrays, write_release
from torch import Tensor

from headway.bundle import Bundle, read_bundle
from headway.errors import HeadwayError
from headway.imports.marian import import_marian, is_marian

SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "gelu": {"transformer-ffn-activation": "gelu", "dim-emb": 24, "transformer-heads": 3},
    "prenorm": PRENORM | {"transformer-ffn-activation": "relu"},
    "separate": SEPARATE | {"enc-depth": 1},
    "untied": UNTIED | {"dec-depth": 1},
    "tied-by-two": {"tied-embeddings": True, "tied-embeddings-src": True},
}
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "swish": F.silu, "gelu": F.gelu}


class Reference:
    """Marian's formulas over Marian's names, one sentence at a time."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            self.config = yaml.safe_load(file["special:model.yml"].tobytes().rstrip(b"\0"))
            self.arrays = {name: torch.from_numpy(file[name]) for name in file.files if not name.startswith("special:")}

    def log_probabilities(self, source: list[int], target: list[int]) -> Tensor:
        """Of every next word, the first included: [T + 1, V]"""
        embed = self.arrays.get("Wemb")
        read, write = (self.arrays[f"{stack}_Wemb"] if embed is None else embed for stack in ("encoder", "decoder"))
        memory = self.stack("encoder", read[source], None)
        begun = torch.cat([torch.zeros(1, write.shape[1]), write[target]])
        x = self.stack("decoder", begun, memory)
        own = self.arrays.get("decoder_ff_logit_out_W")
        return (x @ (write.T if own is None else own) + self.arrays["decoder_ff_logit_out_b"]).log_softmax(dim=-1)

    def stack(self, name: str, x: Tensor, memory: Tensor | None) -> Tensor:
        length, d = x.shape
        speeds = torch.tensor([10_000 ** (-place / (d // 2 - 1)) for place in range(d // 2)])
        angles = torch.arange(length)[:, None] * speeds
        x = d**0.5 * x + torch.cat([angles.sin(), angles.cos()], dim=1)
        later = torch.ones(length, length).triu(1).bool() if memory is not None else torch.zeros(length, length).bool()
        for number in range(1, self.config[f"{name[:3]}-depth"] + 1):
            layer = f"{name}_l{number}"
            x = self.sublayer(f"{layer}_self", "Wo", x, lambda y, p: self.attend(p, y, y, later))
            if memory is not None:
                x = self.sublayer(f"{layer}_context", "Wo", x, lambda y, p: self.attend(p, y, memory, None))
            x = self.sublayer(f"{layer}_ffn", "ffn", x, self.feed_forward)
        return self.norm(f"{name}_top_ln", "", x) if self.config["transformer-postprocess-top"] else x

    def sublayer(self, prefix: str, norm: str, x: Tensor, work: Callable[[Tensor, str], Tensor]) -> Tensor:
        if self.config["transformer-preprocess"] == "n":
            return x + work(self.norm(f"{prefix}_{norm}_ln", "_pre", x), prefix)
        return self.norm(f"{prefix}_{norm}_ln", "", x + work(x, prefix))

    def norm(self, name: str, suffix: str, x: Tensor) -> Tensor:
        x = x - x.mean(dim=-1, keepdim=True)
        x = x / (x.square().mean(dim=-1, keepdim=True) + 1e-6).sqrt()
        return x * self.arrays[f"{name}_scale{suffix}"] + self.arrays[f"{name}_bias{suffix}"]

    def linear(self, prefix: str, letter: str, x: Tensor) -> Tensor:
        return x @ self.arrays[f"{prefix}_W{letter}"] + self.arrays[f"{prefix}_b{letter}"]

    def attend(self, prefix: str, asking: Tensor, asked: Tensor, never: Tensor | None) -> Tensor:
        heads = self.config["transformer-heads"]
        parts = []
        for q, k, v in zip(
            self.linear(prefix, "q", asking).chunk(heads, dim=1),
            self.linear(prefix, "k", asked).chunk(heads, dim=1),
            self.linear(prefix, "v", asked).chunk(heads, dim=1),
            strict=True,
        ):
            scores = q @ k.T / q.shape[1] ** 0.5
            parts.append((scores if never is None else scores.masked_fill(never, -1e9)).softmax(dim=1) @ v)
        return self.linear(prefix, "o", torch.cat(parts, dim=1))

    def feed_forward(self, x: Tensor, prefix: str) -> Tensor:
        return self.linear(prefix, "2", ACTIVATIONS[self.config["transformer-ffn-activation"]](self.linear(prefix, "1", x)))


def bring_in(release: Path) -> Bundle:
    out = release.with_name(f"{release.name}-bundle")
    import_marian(release, out, source_language="en", target_language="de")
    return read_bundle(out)


@pytest.mark.parametrize("name", SHAPES)
def test_it_computes_what_marian_does(tmp_path: Path, name: str):
    release = write_release(tmp_path / "release", **SHAPES[name])
    bundle, reference = bring_in(release), Reference(release / MODEL)
    source, target = [7, 30, 2, 9, 0], [4, 4, 20, 11]
    with torch.no_grad():
        model = bundle.build_model()
        logits = model(torch.tensor([source]), torch.tensor([[bundle.tokenizers.target.bos, *target]]))[0]
    found = logits[:, :-1].log_softmax(dim=-1)
    assert (found - reference.log_probabilities(source, target)).abs().max() < 1e-4
    assert logits.shape[1] == bundle.tokenizers.target.size


def test_what_decoder_yml_says(tmp_path: Path):
    release = write_release(tmp_path / "release")
    manifest = bring_in(release).manifest
    assert (manifest.source_language, manifest.target_language) == ("en", "de")
    assert (manifest.decoding.beam, manifest.decoding.penalty, manifest.decoding.length_penalty) == (6, "power", 1.0)
    shutil.copy(release / MODEL, release / "another.npz")
    rewrite(release, models=[f"/home/somebody/{MODEL}"])  # only the name counts
    assert bring_in(release).manifest.provenance.settings["marian"]["model"] == MODEL


@pytest.mark.parametrize("separate", [False, True])
def test_ids_are_those_of_the_vocabulary(tmp_path: Path, separate: bool):
    tokenizers = bring_in(write_release(tmp_path / "release", **(SEPARATE if separate else {}))).tokenizers
    for tokenizer, words in zip((tokenizers.source, tokenizers.target), list_vocabularies(separate=separate), strict=True):
        assert tokenizer.pieces(range(tokenizer.size)) == [*words, "<pad>"]
        assert [tokenizer.eos, tokenizer.unk, tokenizer.bos, tokenizer.pad] == [0, 1, len(words), len(words)]
    texts = ["The quick brown fox.", ">>deu<< A dog runs."]
    encoded = tokenizers.source.encode(texts)
    assert encoded[1][0] == 4
    assert tokenizers.source.decode([encoded[0]]) == texts[:1]


def test_words_that_yaml_takes_for_something_else(tmp_path: Path):
    release = write_release(tmp_path / "release")
    path = release / VOCABULARY
    path.write_text(path.read_text().replace("'null': 2\n'10': 3", "null: 2\n10: 3"))
    assert bring_in(release).tokenizers.source.pieces([2, 3]) == ["null", "10"]


def test_what_marian_is(tmp_path: Path):
    assert is_marian(write_release(tmp_path / "release"))
    (tmp_path / "config.json").write_text("{}")
    assert not is_marian(tmp_path)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("type", "s2s"),
        ("transformer-decoder-autoreg", "rnn"),
        ("transformer-train-position-embeddings", True),
        ("transformer-ffn-depth", 3),
        ("transformer-decoder-dim-ffn", 99),
        ("transformer-tied-layers", [1, 1]),
        ("transformer-postprocess-emb", "nd"),
        ("transformer-postprocess", "dhn"),
        ("transformer-preprocess", "n"),
        ("transformer-postprocess-top", "n"),
        ("transformer-ffn-activation", "sigmoid"),
        ("transformer-no-projection", True),
        ("lemma-dim-emb", 8),
        ("ulr", True),
        ("right-left", True),
    ],
)
def test_another_model_is_refused_by_the_name_of_the_option(tmp_path: Path, option: str, value: Any):
    release = write_release(tmp_path / "release")
    change_model(release, {}, **{option: value})
    refuse(release, rf"no blocks for: .*{option}: {value!r}".replace("[", r"\[").replace("]", r"\]"))


def test_tensors_that_do_not_fit_are_named_at_once(tmp_path: Path):
    release = write_release(tmp_path / "release")
    wrong = {"Wemb": np.zeros((5, 16), np.float32), "Wpos": np.zeros((4, 4), np.float32), "encoder_l1_self_Wq": None}
    change_model(release, wrong | {"decoder_l1_ffn_b1": np.zeros((1, 24), np.int8)})
    rows = len(list_vocabularies(separate=False)[0])
    for problem in (
        rf"Wemb is \[5, 16\], the options say \[{rows}, 16\]",
        r"Wpos \[4, 4\] has no place",
        r"encoder_l1_self_Wq \[16, 16\] is missing",
        "decoder_l1_ffn_b1 has numbers of type int8",
    ):
        refuse(release, problem)


def test_a_pickle_is_not_opened(tmp_path: Path):
    release = write_release(tmp_path / "release")
    np.savez(release / MODEL, Wemb=np.array([{"a": 1}], dtype=object))
    refuse(release, rf"{MODEL} cannot be read")


@pytest.mark.parametrize("name", [MODEL, VOCABULARY, "decoder.yml", "source.spm", "target.spm"])
def test_a_missing_or_damaged_file_is_named(tmp_path: Path, name: str):
    release = write_release(tmp_path / "release")
    content = (release / name).read_bytes()
    (release / name).write_bytes(content[: len(content) // 2] if name not in ("decoder.yml", VOCABULARY) else b"{ a: [")
    refuse(release, rf"{name} cannot be read")
    (release / name).unlink()
    refuse(release, rf"(has no|names) {name}")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"models": [MODEL, MODEL]}, "names 2 models"),
        ({"vocabs": []}, "names no vocabs"),
        ({"word-penalty": 0.5}, "word-penalty of 0.5"),
        ({"normalize": "much"}, "normalize: much, which is no number"),
        ({"beam-size": 0}, "beam-size: 0 and normalize: 1"),
        ({"normalize": -1}, "normalize: -1; no search"),
        ({"beam-size": "inf"}, "beam-size: inf"),
        ({"vocabs": [{"a": "b"}]}, "vocabs: .*no names of files"),
        ({"models": [[MODEL]]}, "models: .*no names of files"),
    ],
)
def test_what_decoder_yml_must_not_say(tmp_path: Path, change: dict[str, Any], problem: str):
    release = write_release(tmp_path / "release")
    rewrite(release, **change)
    refuse(release, problem)


def test_a_vocabulary_that_does_not_fit(tmp_path: Path):
    release = write_release(tmp_path / "release")
    path, rows = release / VOCABULARY, len(list_vocabularies(separate=False)[0])
    whole = path.read_text()
    path.write_text(whole + f"one more: {rows}\n")
    refuse(release, rf"has {rows + 1} pieces, the model {rows} rows")
    path.write_text(whole.replace("<unk>: 1", "unk: 1"))
    refuse(release, "has no <unk>")
    path.write_text("a: b\n")
    refuse(release, "is no vocabulary")


def test_two_ends(tmp_path: Path):
    release = write_release(tmp_path / "release", **SEPARATE)
    path = release / yaml.safe_load((release / "decoder.yml").read_text())["vocabs"][1]
    path.write_text(path.read_text().replace("</s>: 0", "</s>: 1").replace("<unk>: 1", "<unk>: 0"))
    refuse(release, "source ends with token 0, a target with token 1")


def rewrite(release: Path, **change: Any) -> None:
    path = release / "decoder.yml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | change))


def change_model(release: Path, tensors: dict[str, np.ndarray | None], **options: Any) -> None:
    reference = Reference(release / MODEL)
    arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in reference.arrays.items()} | tensors
    config = PLAIN | reference.config | options
    write_arrays(release / MODEL, config, {name: array for name, array in arrays.items() if array is not None})


def refuse(release: Path, problem: str) -> None:
    out = release.with_name("nothing")
    with pytest.raises(HeadwayError, match=problem):
        import_marian(release, out, source_language="en", target_language="de")
    assert not out.exists()
