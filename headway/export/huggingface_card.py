"""What a person finds who opens an export for Hugging Face: how to use it, and what to know of it."""

from headway.architectures import Architecture, BertArchitecture, T5Architecture, VitArchitecture
from headway.bundle import Bundle
from headway.export.huggingface_tokenizer import is_native
from headway.models.huggingface_config import TARGET_TOKENIZER

_TIES = """
  But where a run such as "....." can be cut into the same pieces in two orders, rounding decides: SentencePiece adds up
  scores in single precision, `tokenizers` in double."""

_TRAPS = """
- The tokenizer's tables for composing characters (NFC) are those of Unicode 9: marks that came later are not put in order.
- A lone surrogate, which a Python string may hold but no text, is refused by the tokenizer; Headway reads it as U+FFFD.
- Bytes that are no UTF-8, should the model write some, become a U+FFFD each, and so do the good ones beside them."""


def write_card(bundle: Bundle, *, positions: int, max_new_tokens: int) -> str:
    """Of a translator or of one of its relatives, with a program that runs it."""
    a = bundle.manifest.architecture
    if isinstance(a, Architecture | T5Architecture):
        return _translators(bundle, positions, max_new_tokens)
    helper, name, given = "AutoTokenizer", "tokenizer", "text"
    task, loader, shows = "text-generation", "AutoModelForCausalLM", "tokenizer.batch_decode(model.generate(**inputs))"
    if isinstance(a, BertArchitecture):
        task = "text-classification" if a.classes else "fill-mask"
        loader = "AutoModelForSequenceClassification" if a.classes else "AutoModelForMaskedLM"
        shows = "model(**inputs).logits.softmax(-1)"
    if isinstance(a, VitArchitecture):
        task, loader, shows = "image-classification", "AutoModelForImageClassification", "model(**inputs).logits.softmax(-1)"
        helper, name, given = "AutoImageProcessor", "processor", "picture"
    return f"""---
library_name: transformers
pipeline_tag: {task}
---
A model made with Headway {bundle.manifest.version}, for Hugging Face transformers:

```python
from transformers import {loader}, {helper}
model, {name} = (kind.from_pretrained("DIRECTORY") for kind in ({loader}, {helper}))
inputs = {name}({given}, return_tensors="pt")
print({shows})
```
"""


def _translators(bundle: Bundle, positions: int, max_new_tokens: int) -> str:
    m, native = bundle.manifest, is_native(bundle.tokenizers)
    apart = native and not bundle.tokenizers.shared
    writes = f'AutoTokenizer.from_pretrained("DIRECTORY/{TARGET_TOKENIZER}")' if apart else "tokenizer"
    ties = _TIES if native and m.tokenizer.kind == "unigram" else ""
    title = f"# {m.source_language} → {m.target_language}\n\n" if m.source_language else ""
    tagged = "".join(
        f"\n- For {one}, put `{one.prefix.strip()}` and a space before each text." for one in m.directions if one.prefix
    )
    longest = f"""
- A source has at most {positions:,} pieces, its end counted: `truncation=True` cuts it there, and without that a longer one
  fails with an IndexError."""
    return f"""---
library_name: transformers
pipeline_tag: translation
---
{title}A translator made with Headway {m.version}, for Hugging Face transformers:

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
model, tokenizer = (kind.from_pretrained("DIRECTORY") for kind in (AutoModelForSeq2SeqLM, AutoTokenizer))
ids = model.generate(**tokenizer(["A dog runs."], return_tensors="pt", padding=True))
print({writes}.batch_decode(ids, skip_special_tokens=True))
```

- Text goes in as it is; the tokenizer gives the ids that Headway's gives.{tagged}{ties}{
        longest if m.architecture.kind != "t5" else ""
    }
- A translation has at most {max_new_tokens} pieces (`max_new_tokens`).
- Greedy translations are Headway's. With a beam some may differ: `generate` has its own length penalty, n^alpha, and end.{
        _TRAPS if native else ""
    }
"""
