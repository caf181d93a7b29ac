"""A bundle as two ONNX graphs, for programs without torch or Python: the encoder, and one step of the decoder.

The model's own code is traced, so whatever `nn/` can do the graphs can. The loop that calls the decoder stays with the program,
and the caches go through its hands: what a step gives as `new_…` the next one takes as `past_…`.
"""

import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway import __version__
from headway.architectures import Architecture
from headway.bundle import TOKENIZER, Bundle, Manifest
from headway.errors import BundleError, HeadwayError, RequestError
from headway.models.transformer import Transformer
from headway.models.weights import set_weights
from headway.nn.attention import MultiHeadAttention, equation_1
from headway.nn.cache import DecoderCache, KeyValue, LayerCache
from headway.nn.positions import SinusoidalPositions, sinusoids
from headway.text.tokenizer import SentencePieceTokenizer, Tokenizers

FORMAT = 1
OPSET = 17  # the first with layer norms; runtimes since 2022 read it
FACTS, CARD = "headway-onnx.json", "README.md"
NEVER = -1e9  # added to the logits of what must not be written
LARGEST = 2**31 - 2**24  # bytes of weights in a file: protobuf ends at 2 GiB, and the graph itself takes some
_TRACED = {"batch": 2, "source": 5, "past": 3}  # sizes of the example; any others work afterwards
_EXTRA = "pip install 'headway[onnx]'"
_NO_EXPORT = "An ONNX model is a directory that Headway has exported, with all its files."


@dataclass(frozen=True)
class Port:
    """An input or output of a graph. A size that changes from call to call has a name."""

    name: str
    type: Literal["int64", "float32", "bool"]
    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class Graph:
    file: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def describe_encoder(a: Architecture) -> Graph:
    """Source tokens, an end mark after each sentence, to what every decoder layer attends to."""
    source = Port("source", "int64", ("batch", "source"))
    return Graph("encoder.onnx", (source,), (*_caches(a, "memory", "source"), _memory_mask()))


def describe_decoder(a: Architecture) -> Graph:
    """The last token of each sentence and all that came before, to the logits of the next."""
    tokens, logits = Port("tokens", "int64", ("batch",)), Port("logits", "float32", ("batch", a.target_vocab))
    caches = (*_caches(a, "past", "past"), *_caches(a, "memory", "source"))
    return Graph("decoder.onnx", (tokens, *caches, _memory_mask()), (logits, *_caches(a, "new", "past + 1")))


def _caches(a: Architecture, name: str, length: str) -> list[Port]:
    return [
        Port(f"{name}_{kind}_{layer}", "float32", ("batch", a.n_heads, length, width))
        for layer in range(a.n_decoder_layers)
        for kind, width in (("key", a.d_k), ("value", a.d_v))
    ]


def _memory_mask() -> Port:
    return Port("memory_mask", "bool", ("batch", 1, 1, "source"))


def write_onnx(bundle: Bundle, directory: Path) -> None:
    """Write the two graphs, the tokenizer, and what a program must know of them into an existing empty directory."""
    try:
        import onnx  # noqa: F401  # torch wants it, but would say so less kindly
    except ImportError:
        raise HeadwayError("Writing ONNX files needs the package onnx.", _EXTRA) from None
    manifest, tokenizers = bundle.manifest, bundle.tokenizers
    a = bundle.require_transformer("ONNX")
    if not isinstance(tokenizers.source, SentencePieceTokenizer):
        raise RequestError(
            f"{bundle.directory} was imported, and has a tokenizer that is not told in ONNX.",
            "Use --to ctranslate2 or --to huggingface.",
        )
    encoder, decoder = describe_encoder(a), describe_decoder(a)
    _check_sizes(a)
    model = Transformer(a, pad=tokenizers.source.pad)
    set_weights(model, bundle.weights())
    _make_traceable(model)
    never = [tokenizers.target.pad, tokenizers.target.bos, tokenizers.target.unk]
    _trace(_EncoderPart(model), encoder, directory)
    _trace(_StepPart(model, never), decoder, directory)
    tokenizers.save(directory / TOKENIZER)
    (directory / CARD).write_text(_card(manifest), encoding="utf-8")
    facts = _facts(manifest, a, tokenizers, never, encoder, decoder)
    (directory / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _check_sizes(architecture: Architecture) -> None:
    with torch.device("meta"):  # shapes alone, no memory
        model = Transformer(architecture)
    cross = [layer.cross_attention.input for layer in model.decoder.layers]  # type: ignore[union-attr]
    parts = {
        "encoder": [model.source_embedding, model.positions, model.encoder, *cross],
        "decoder": [model.target_embedding, model.output, model.positions, model.decoder],
    }
    for name, modules in parts.items():
        size = 4 * sum(parameter.numel() for parameter in nn.ModuleList(modules).parameters())  # type: ignore[arg-type, misc]
        if size > LARGEST:
            raise RequestError(
                f"The {name} has weights of {size / 2**30:.1f} GiB, and a file of ONNX holds less than 2.",
                "Export a smaller model, or use this one as it is.",
            )


class _AnyPositions(nn.Module):
    """`SinusoidalPositions` without its table: a trace would take the table's end for the end of all sentences."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model

    def forward(self, start: int, length: int) -> Tensor:
        return sinusoids(torch.arange(start, start + length), self.d_model)


def _make_traceable(model: Transformer) -> None:
    """Put parts in place that do the same by plain operations, whatever the lengths."""
    for part in model.modules():
        if isinstance(part, MultiHeadAttention):
            part.kernel = equation_1
    if isinstance(model.positions, SinusoidalPositions):
        model.positions = _AnyPositions(model.positions.d_model)  # type: ignore[assignment]


class _EncoderPart(nn.Module):
    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor) -> tuple[Tensor, ...]:
        cache = self.model.start(source)
        assert cache.memory_mask is not None
        return (*(tensor for layer in cache.layers if layer.memory for tensor in _flatten(layer.memory)), cache.memory_mask)


class _StepPart(nn.Module):
    never: Tensor

    def __init__(self, model: Transformer, never: Sequence[int]) -> None:
        super().__init__()
        self.model = model
        self.register_buffer("never", torch.zeros(model.architecture.target_vocab))
        if model.output.bias is not None:
            self.never += model.output.bias.detach()
        self.never[list(never)] = NEVER

    def forward(self, tokens: Tensor, *caches_and_mask: Tensor) -> tuple[Tensor, ...]:
        *caches, memory_mask = caches_and_mask
        pairs = [KeyValue(key, value) for key, value in zip(caches[::2], caches[1::2], strict=True)]
        pasts, memories = pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]
        layers = tuple(LayerCache(past, memory) for past, memory in zip(pasts, memories, strict=True))
        x, new = self.model.decode(tokens[:, None], DecoderCache(layers, memory_mask))
        # As the bias of one product: it needs no turned copy of the matrix beside the embedding's.
        logits = F.linear(x[:, 0], self.model.output.weight, self.never)
        return (logits, *(tensor for layer in new.layers if layer.past for tensor in _flatten(layer.past)))


def _flatten(pair: KeyValue) -> tuple[Tensor, Tensor]:
    return pair.key, pair.value


def _trace(part: nn.Module, graph: Graph, directory: Path) -> None:
    """By the tracer, not torch's newer exporter: that one needs a further package, and 19 seconds for 4+4 layers, not 0.6."""
    sizes = [[_TRACED[size] if isinstance(size, str) else size for size in port.shape] for port in graph.inputs]
    examples = [torch.ones(size, dtype=getattr(torch, port.type)) for size, port in zip(sizes, graph.inputs, strict=True)]
    ports = (*graph.inputs, *graph.outputs)
    with torch.no_grad(), warnings.catch_warnings():
        # The tracer is old, and warns of what it takes for constant: a head's width and one token a step, which are.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            part.eval(),
            tuple(examples),
            directory / graph.file,
            dynamo=False,
            opset_version=OPSET,
            input_names=[port.name for port in graph.inputs],
            output_names=[port.name for port in graph.outputs],
            dynamic_axes={p.name: {axis: size for axis, size in enumerate(p.shape) if isinstance(size, str)} for p in ports},
        )


def _facts(
    manifest: Manifest, a: Architecture, tokenizers: Tokenizers, never: Sequence[int], encoder: Graph, decoder: Graph
) -> dict[str, Any]:
    """All that a program in any language needs to turn text into text."""
    source, target = tokenizers.source, tokenizers.target
    files = ("shared.model", "shared.model") if tokenizers.shared else ("source.model", "target.model")
    return {
        "format": FORMAT,
        "version": __version__,
        "opset": OPSET,
        "source_language": manifest.source_language,
        "target_language": manifest.target_language,
        "directions": [
            {"source": one.source, "target": one.target, "tags": source.encode([one.prefix])[0] if one.prefix else []}
            for one in manifest.directions
        ],
        "encoder": asdict(encoder),
        "decoder": asdict(decoder),
        "source": {
            "sentencepiece": f"{TOKENIZER}/{files[0]}",
            "vocabulary": a.source_vocab,
            "pad": source.pad,
            "eos": source.eos,
            "unk": source.unk,
        },
        "target": {
            "sentencepiece": f"{TOKENIZER}/{files[1]}",
            "vocabulary": a.target_vocab,
            "pad": target.pad,
            "bos": target.bos,
            "eos": target.eos,
            "unk": target.unk,
            "never": list(never),
        },
        "text": {"normalization": "NFC", "escapes": [["\ufdd0", "\ufdd00"], ["\u2581", "\ufdd01"]]},
        "positions": {"kind": a.positions, "rows": a.max_positions if a.positions == "learned" else None},
        "decoding": manifest.decoding.model_dump(),
    }


def _describe_command(manifest: Manifest) -> str:
    if not (manifest.directions and manifest.directions[0].prefix):
        return f"python translate.py < text.{manifest.source_language}"
    first = manifest.directions[0]
    return f"python translate.py {first.target} < text.{first.source}"


def _card(manifest: Manifest) -> str:
    scope = f"The model knows only {manifest.scope.name}.\n\n" if manifest.scope else ""
    return f"""# {manifest.source_language} → {manifest.target_language}, in ONNX

A translator made with Headway {manifest.version}. `encoder.onnx` reads sentences, `decoder.onnx` writes one token at a time,
`tokenizer/` holds SentencePiece models, and `{FACTS}` says the rest: every input and output with its shape,
the special ids, the limits.

{scope}`pip install numpy onnxruntime "sentencepiece<0.2.2"`, then save this as `translate.py` in this directory and run
`{_describe_command(manifest)}`:

```python
{_PROGRAM}```

- This is greedy search, one sentence at a time. Sentences of a batch are padded with `source.pad` after their end mark
  (`source.eos`), and what the decoder gives for a sentence that has ended is to be left aside.
- For beam search, reorder the rows of all caches. A hypothesis of n tokens, its end counted, scores its log-probability over
  ((5 + n) / 6)^`decoding.length_penalty`, or over n^`decoding.length_penalty` where `decoding.penalty` is "power".
- The decoder's position is the length of its `past_…`. Each step's `new_…` are the next step's `past_…`; the `memory_…` stay.
- Any length works. Where `positions.kind` is "learned", positions from `positions.rows` on are taken for the last one.
- The ids in `target.never` have {NEVER:.0e} added to their logits, so that none of them wins.
- Text is put into Unicode's form NFC. In text that holds "▁" (U+2581) itself, make the replacements of `text.escapes`, in their
  order, before it is cut into pieces, and undo them afterwards: SentencePiece takes that sign for a space.
"""


_PROGRAM = f"""import json, sys, unicodedata
import numpy as np, onnxruntime, sentencepiece

onnxruntime.disable_telemetry_events()
facts = json.load(open("{FACTS}", encoding="utf-8"))
encoder, decoder = (onnxruntime.InferenceSession(facts[part]["file"]) for part in ("encoder", "decoder"))
source, target = (sentencepiece.SentencePieceProcessor(facts[side]["sentencepiece"]) for side in ("source", "target"))
caches = {{port["name"]: port["shape"] for port in facts["decoder"]["inputs"] if port["name"].startswith("past_")}}

# The target language, where there are several: its tags go before each text.
ways = [way for way in facts["directions"] if sys.argv[1:] in ([], [way["target"]])]
if facts["directions"] and len({{tuple(way["tags"]) for way in ways}}) != 1:
    sys.exit("Give a target language: " + ", ".join(sorted({{way["target"] for way in facts["directions"]}})))
tags = ways[0]["tags"] if ways else []

def translate(text):
    pieces = tags + source.encode(unicodedata.normalize("NFC", text))
    memory = encoder.run(None, {{"source": np.array([pieces + [facts["source"]["eos"]]])}})
    memory = dict(zip([port["name"] for port in facts["encoder"]["outputs"]], memory))
    past = {{name: np.zeros((1, heads, 0, width), np.float32) for name, (_, heads, _, width) in caches.items()}}
    last, written = facts["target"]["bos"], []
    while len(written) < len(pieces) + facts["decoding"]["max_extra"]:
        logits, *new = decoder.run(None, {{"tokens": np.array([last]), **memory, **past}})
        last, past = int(logits[0].argmax()), dict(zip(past, new))
        if last == facts["target"]["eos"]:
            break
        written.append(last)
    return target.decode(written)

for line in sys.stdin:
    print(translate(line.strip()) if line.strip() else "")
"""


class OnnxModel:
    """The graphs in onnxruntime: the proof that they say what the model says. B batch, V vocabulary."""

    def __init__(self, directory: Path) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise HeadwayError("Reading ONNX files needs the package onnxruntime.", _EXTRA) from None
        onnxruntime.disable_telemetry_events()
        facts = _read_facts(directory)
        self.pad, self.source_eos = facts["source"]["pad"], facts["source"]["eos"]
        self.bos, self.eos = facts["target"]["bos"], facts["target"]["eos"]
        self._memory_names = [port["name"] for port in facts["encoder"]["outputs"]]
        self._past_shapes = {
            port["name"]: port["shape"] for port in facts["decoder"]["inputs"] if port["name"].startswith("past_")
        }
        self._encoder = _open(directory / facts["encoder"]["file"])
        self._decoder = _open(directory / facts["decoder"]["file"])

    def logits(self, source: Sequence[int], target: Sequence[int]) -> np.ndarray:
        """What may follow each beginning of the target, the empty one and the whole one included: [T + 1, V]."""
        memory, past = self._start([source])
        rows = []
        for token in (self.bos, *target):
            logits, past = self._step([token], memory, past)
            rows.append(logits[0])
        return np.stack(rows)

    def translate(self, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> list[list[int]]:
        """The greedy translation of each source, both without marks, at most `limits` pieces long."""
        written: list[list[int]] = [[] for _ in sources]
        rows = [row for row, limit in enumerate(limits) if limit > 0]  # who is still in the batch
        if not rows:
            return written
        memory, past = self._start([sources[row] for row in rows])
        last = [self.bos] * len(rows)
        while rows:
            logits, past = self._step(last, memory, past)
            last = logits.argmax(axis=1).tolist()
            for row, token in zip(rows, last, strict=True):
                if token != self.eos:
                    written[row].append(token)
            staying = [n for n, row in enumerate(rows) if last[n] != self.eos and len(written[row]) < limits[row]]
            if len(staying) < len(rows):
                rows, last = [rows[n] for n in staying], [last[n] for n in staying]
                memory, past = ({name: array[staying] for name, array in part.items()} for part in (memory, past))
        return written

    def _start(self, sources: Sequence[Sequence[int]]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The memory of the sources, and the caches before the first token."""
        padded = np.full((len(sources), max(map(len, sources)) + 1), self.pad, dtype=np.int64)
        for row, source in zip(padded, sources, strict=True):
            row[: len(source) + 1] = [*source, self.source_eos]
        memory = dict(zip(self._memory_names, self._encoder.run(None, {"source": padded}), strict=True))
        shapes = {name: (len(sources), heads, 0, width) for name, (_, heads, _, width) in self._past_shapes.items()}
        return memory, {name: np.zeros(shape, dtype=np.float32) for name, shape in shapes.items()}

    def _step(
        self, tokens: Sequence[int], memory: dict[str, np.ndarray], past: dict[str, np.ndarray]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Logits of what follows the tokens [B, V], and the caches of the next step."""
        logits, *new = self._decoder.run(None, {"tokens": np.array(tokens, dtype=np.int64), **memory, **past})
        return logits, dict(zip(past, new, strict=True))


def _read_facts(directory: Path) -> dict[str, Any]:
    path = directory / FACTS
    if not path.is_file():
        raise BundleError(f"{directory} is no ONNX model: it has no {FACTS}.", _NO_EXPORT)
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        written = int(facts["format"])
    except (ValueError, TypeError, KeyError) as error:
        raise BundleError(f"{path} cannot be read: {error}.", _NO_EXPORT) from None
    if written > FORMAT:
        raise BundleError(
            f"{directory} has format {written}; this Headway ({__version__}) reads up to {FORMAT}.",
            f"It was written by Headway {facts.get('version', '?')}: upgrade to that or a later one.",
        )
    return facts


def _open(path: Path) -> Any:
    """A session of onnxruntime."""
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as kinds

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors alone
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except (kinds.Fail, kinds.InvalidGraph, kinds.InvalidProtobuf, kinds.NoSuchFile):
        raise BundleError(f"{path} is missing or damaged.", _NO_EXPORT) from None
