"""A translator from inside: encoder, decoder, and what they came to."""

import torch

from headway.architectures import T5Architecture
from headway.errors import RequestError
from headway.family.recording import check_text
from headway.glass.beam import search
from headway.glass.embedding import see_input
from headway.glass.limits import check_full
from headway.glass.parts import Alignment, Glass
from headway.glass.predictions import see_predictions
from headway.glass.recording import record_calls
from headway.glass.stacks import see_stack
from headway.nn.positions import NoPositions
from headway.text.labels import label_pieces
from headway.translator import Translator


@torch.inference_mode()
def see_translation(
    translator: Translator, sentence: str, target: str | None = None, *, to: str = "", from_: str = "", source_prefix: str = ""
) -> Glass:
    """A sentence on its way to its translation, or to the one that is given."""
    check_text(sentence)
    if target is not None and not target.strip():
        raise RequestError("The given translation is blank.", "Give one with at least a word, or leave it to the model.")
    translator.engines.choose(["show what goes on inside a model"])
    engine, reads, writes = translator.engines.torch, translator.tokenizers.source, translator.tokenizers.target
    model, a = engine.model, engine.model.architecture
    source = translator.cut_source(sentence.strip(), to=to, from_=from_, source_prefix=source_prefix)
    check_full(len(source))
    if target is None:
        options, limit = translator.options(), len(source) + translator.decoding.max_extra
        tokens, beam = search(engine, source, limit=limit, options=options, target=writes)
        without = "" if beam else "A beam of one is greedy: the likeliest piece is taken each time, and no other is kept."
    else:
        (tokens,), beam = writes.encode([target.strip()]), None
        without = "The translation was given, so nothing was searched."
    check_full(len(tokens))
    read, written = [writes.bos, *tokens], [*tokens, writes.eos]
    with record_calls(model) as calls:
        logits = model(torch.tensor([[*source, reads.eos]], device=model.device), torch.tensor([read], device=model.device))[0]
    asked, asking = label_pieces(reads, [*source, reads.eos]), label_pieces(writes, read)
    stacks = [see_stack(model.encoder, calls, asked), see_stack(model.decoder, calls, asking)]
    cross = stacks[1].layers[a.alignment_layer].cross
    assert cross is not None
    positions = None if isinstance(model.positions, NoPositions) else model.positions
    sums = calls.of[model.dropout]
    return Glass(
        kind=a.kind,
        sentence=sentence,
        answer=writes.decode([tokens])[0],
        facts=[
            ("N, encoder", a.n_layers),
            ("N, decoder", a.n_decoder_layers),
            ("d_model", a.d_model),
            ("d_ff", a.d_ff),
            ("h", a.n_heads),
            ("d_k", a.d_k),
            ("d_v", a.d_k if isinstance(a, T5Architecture) else a.d_v),
            ("vocabulary", len(model.output.weight)),
        ],
        inputs=[
            see_input("source", model.source_embedding, positions, calls, 0, asked, reads, total=sums[0].inputs[0]),
            see_input("target", model.target_embedding, positions, calls, -1, asking, writes, total=sums[1].inputs[0]),
        ],
        stacks=stacks,
        alignment=Alignment(cross.mean(axis=0), a.alignment_layer + 1),
        predictions=see_predictions(
            model,
            model.decoder,
            logits,
            [calls.last(layer).output[0][0] for layer in model.decoder.layers],
            names=lambda ids: [label_pieces(writes, [one])[0] for one in ids],
            places=asking,
            rows=range(len(read)),
            written=written,
            never=engine.never,
        ),
        beam=beam,
        without_beam=without,
    )
