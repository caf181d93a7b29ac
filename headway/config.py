"""Every setting of Headway: its name, its meaning, its default, its limits.

`None` means "chosen by corpus and budget"; a run's `config.yaml` holds what was chosen. The description of a field is also its
text in `headway train --help`, where every field is an option.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo

from headway.errors import RequestError

MOST_WEIGHT = 1000  # of a corpus: times that it is read in an epoch

Task = Literal["translate", "denoise", "span", "lm", "mlm", "classify"]
PresetName = Literal["mini", "tiny", "small", "base", "big"]
Family = Literal["transformer", "t5", "bert", "gpt", "vit"]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True, allow_inf_nan=False)


class ModelSettings(Section):
    family: Family | None = Field(None, description="which of the paper's relatives; by the task if not given")
    preset: PresetName | None = Field(
        None, description="named size; by corpus and budget if not given; the settings below win over it"
    )
    n_layers: int | None = Field(None, ge=1, description="N, layers of the encoder and of the decoder")
    n_decoder_layers: int | None = Field(None, ge=1, description="layers of the decoder, if not n_layers")
    d_model: int | None = Field(None, ge=2, description="width of the model")
    d_ff: int | None = Field(None, ge=1, description="width inside the feed-forward networks")
    n_heads: int | None = Field(None, ge=1, description="h, attention heads")
    d_k: int | None = Field(None, ge=1, description="width of a head's queries and keys; d_model / n_heads if not given")
    d_v: int | None = Field(None, ge=1, description="width of a head's values; d_model / n_heads if not given")
    dropout: float | None = Field(
        None, ge=0, le=0.99, description="on each sublayer's output and on embeddings plus positions; by preset and budget"
    )
    attention_dropout: float | None = Field(
        None, ge=0, le=0.99, description="on the weights of attention, after the softmax; 0 if not given"
    )
    activation_dropout: float | None = Field(
        None, ge=0, le=0.99, description="inside the feed-forward networks, after the activation; 0 if not given"
    )
    word_dropout: float | None = Field(
        None,
        ge=0,
        le=0.99,
        description="share of the pieces read, of either language, whose embedding is hidden; 0 if not given",
    )
    norm: Literal["post", "pre"] | None = Field(
        None, description="layer norm after each residual sum, as in the paper, or before each sublayer; by the preset"
    )
    positions: Literal["sinusoidal", "learned", "none"] | None = Field(
        None, description="how positions are told apart; the paper's sinusoidal if not given, or what the family has"
    )
    scale_attention: bool = Field(
        True, description="divide dot products by sqrt(d_k), as in equation 1; without it, to see what that is for"
    )
    max_positions: int | None = Field(
        None, ge=1, description="rows of the table of learned positions; what max_length needs if not given"
    )
    activation: Literal["relu", "gelu", "gelu-tanh", "swish"] | None = Field(
        None, description="inside the feed-forward networks; the paper's relu, or what the family has"
    )
    tie: Literal["all", "target", "none"] | None = Field(
        None, description="one embedding for source, target and output (all), for target and output (target), or three (none)"
    )
    patch_size: int | None = Field(None, ge=1, description="pixels of a patch's side, for pictures; 4 if not given")


class TokenizerSettings(Section):
    kind: Literal["bpe", "unigram", "char"] = Field("bpe", description="how text is cut into pieces")
    shared: bool = Field(True, description="one vocabulary for both languages, or one each")
    vocab_size: int | None = Field(None, ge=300, description="pieces of a vocabulary, bytes and special ones included")
    vocabulary: Literal["own", "new"] | None = Field(
        None,
        description="with init: the vocabulary of the model to begin with, or a new one, whose pieces begin from the model's; "
        "its own if not given, unless it translates other languages",
    )
    sampling: float = Field(
        0.0,
        ge=0,
        le=1,
        description="other cuts of the same text each epoch: share of merges dropped (bpe), smoothing (unigram)",
    )


class DataSettings(Section):
    task: Task = Field(
        "translate",
        description="what is learned: to translate; to mend text of one or more languages (denoise, span); to go on with text "
        "(lm); to fill gaps (mlm); to tell the class of texts or pictures (classify)",
    )
    train: list[str] = Field(
        default_factory=list,
        description="corpus: STEM of two files STEM.from and STEM.to, or a .tsv; for denoise, span, mlm and lm a file of text; "
        "for classify a .tsv of texts and labels, or a directory with a folder of pictures a class; repeatable, with :WEIGHT",
    )
    prefix: list[str] = Field(
        default_factory=list,
        description="put before each source of a corpus, as in 'reverse: '; one for each corpus, in order; with several, "
        "--valid and --test must have them in their text; '<news> ', a tag, is one piece of the vocabulary",
    )
    monolingual_target: list[str] = Field(
        default_factory=list,
        description="file of text of the target language alone, a sentence a line: a model that is trained first translates it "
        "back, and the pairs join the corpus; repeatable, with :WEIGHT",
    )
    back_translation: Literal["beam", "sampling"] = Field(
        "beam",
        description="how the monolingual text is translated: as the search finds it likeliest, or drawn, for much text and a "
        "reverse model that is good",
    )
    valid: str | None = Field(None, description="held-out corpus for validation; cut off the training corpus if not given")
    test: str | None = Field(None, description="held-out corpus for the final test; cut off the training corpus if not given")
    source_language: str = Field("", alias="from", description="source language, and ending of its files; several: en,fr")
    target_language: str = Field("", alias="to", description="target language, and ending of its files; several: de,twi")
    max_length: int = Field(
        256, ge=1, description="pieces of a side: longer pairs are dropped, texts cut (mlm, classify); of lm the context"
    )
    max_ratio: float = Field(8.0, gt=1, description="pairs with one side this many times longer than the other are dropped")
    held_out: int | None = Field(None, ge=1, description="pairs cut off for each of validation and test")
    other_names: int = Field(
        0,
        ge=0,
        le=100,
        description="pairs to make of each that has a name or a long number in both languages alike, with others in its place: "
        "few pairs have few names, and so a model learns to carry over those that it never saw",
    )
    hidden: float | None = Field(
        None, gt=0, lt=1, description="share of the pieces that is hidden (denoise, span, mlm); 0.35 to denoise, else 0.15"
    )
    span: float = Field(3.0, ge=1, description="pieces that are hidden at a stretch, on average (denoise, span)")
    whole_words: bool = Field(False, description="hide whole words (mlm)")
    image_size: int | None = Field(
        None, ge=1, description="pixels of a side to which pictures are brought; theirs if not given"
    )
    shift: int = Field(0, ge=0, description="pixels by which pictures are moved at random each time they are seen")

    @field_validator("train", "prefix", "monolingual_target", mode="before")
    @classmethod
    def _list_one(cls, given: Any) -> Any:
        return [given] if isinstance(given, str) else given

    @field_validator("source_language", "target_language", mode="before")
    @classmethod
    def _read_norwegian(cls, given: Any) -> Any:
        """YAML takes a bare `no` for false."""
        return "no" if given is False else given


class TrainingSettings(Section):
    batch_tokens: int | None = Field(None, ge=1, description="target tokens of one update")
    accumulate: int | None = Field(
        None, ge=1, description="passes that one update is cut into; small ones are computed together"
    )
    init: str | None = Field(
        None, description="model to begin with, its shape and mostly its vocabulary; new weights if not given"
    )
    label_smoothing: float | None = Field(
        None, ge=0, lt=1, description="share of probability spread over the vocabulary; 0.1 to translate, else 0"
    )
    r_drop: float = Field(
        0.0,
        ge=0,
        description="alpha of R-Drop, as 5: each batch is read twice with other dropout, and both predictions are made to "
        "agree, at twice the price of an update; 0 reads it once",
    )
    optimizer: Literal["adam", "muon"] | None = Field(
        None,
        description="the paper's Adam, or Muon for the layers' matrices and Adam for the rest, which learns more from as many "
        "updates; if not given, muon for a new model of two stacks, adam with the paper's schedule, init or shard",
    )
    learning_rate: float | None = Field(
        None, gt=0, description="peak of the schedule; d_model^-0.5 * warmup^-0.5 with the paper's"
    )
    warmup: int | None = Field(None, ge=0, description="updates until the peak")
    schedule: Literal["paper", "inverse-sqrt", "cosine", "linear"] = Field(
        "linear", description="how the learning rate falls after the warm-up"
    )
    clip: float = Field(1.0, ge=0, description="largest norm of the gradient; 0 does not clip")
    max_steps: int | None = Field(None, ge=1, description="budget in updates")
    max_epochs: float | None = Field(None, gt=0, description="budget in passes over the corpus")
    max_minutes: float | None = Field(None, gt=0, description="budget in minutes on this machine")
    valid_every: int | None = Field(None, ge=1, description="updates between validations")
    valid_sentences: int = Field(500, ge=1, description="sentences translated at a validation")
    checkpoint_every: int | None = Field(None, ge=1, description="updates between checkpoints; valid_every if not given")
    keep_checkpoints: int = Field(5, ge=1, description="newest checkpoints kept")
    average: int = Field(5, ge=1, description="last checkpoints averaged at the end; 1 averages nothing")
    ema: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="decay of a moving average of the weights, as 0.999: it is what is then validated, kept as best and last, "
        "tested, and averaged over the last checkpoints; 0 has none",
    )
    metric: Literal["bleu", "chrf", "loss", "accuracy"] | None = Field(
        None, description="validation figure that tells which model is best; chrf to translate, accuracy to classify, else loss"
    )
    patience: int = Field(
        10, ge=0, description="validations without a better figure or a lower loss before stopping; 0 never stops early"
    )
    seed: int = Field(1, ge=0, lt=2**32, description="of everything random")
    processes: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto", description="processes that share the work, or auto: one a GPU, else one a core if the batch has work for it"
    )
    threads: int | None = Field(None, ge=1, description="threads of each process; its share of the cores if not given")
    precision: Literal["fp32", "bf16"] | None = Field(
        None, description="of matrix products; if not given, bf16 where the hardware has it, on a processor from d_model 256 on"
    )
    recompute: bool = Field(
        False, description="keep less of the forward pass and compute it again in the backward pass: less memory, more time"
    )
    shard: bool = Field(False, description="each process holds only a share of the model (FSDP2): for models that do not fit")


class DecodingSettings(Section):
    beam: int = Field(5, ge=1, description="hypotheses kept at each step; 1 is greedy")
    length_penalty: float = Field(1.0, ge=0, description="alpha, exponent of the length penalty; more is longer")
    penalty: Literal["paper", "power"] = Field(
        "paper", description="what alpha is the exponent of: the paper's (5 + n) / 6, or n as in other toolkits"
    )
    patience: float = Field(1.5, gt=0, description="times the beam: hypotheses that must have ended before the search ends")
    max_extra: int = Field(50, ge=1, description="longest output: pieces of the input plus this many")
    min_length: int = Field(0, ge=0, description="fewest pieces of an output")
    no_repeat_ngram: int = Field(0, ge=0, description="no run of this many pieces comes twice in an output; 0 lets it")
    batch_tokens: int | None = Field(
        None, ge=1, description="source tokens translated at once; what suits the engine if not given"
    )


class Settings(Section):
    """A whole run's settings, in the sections of its YAML file."""

    model: ModelSettings = ModelSettings()
    tokenizer: TokenizerSettings = TokenizerSettings()
    data: DataSettings = DataSettings()
    training: TrainingSettings = TrainingSettings()
    decoding: DecodingSettings = DecodingSettings()

    def to_yaml(self) -> str:
        return yaml.safe_dump(self.model_dump(by_alias=True), sort_keys=False, allow_unicode=True)


def fields() -> Iterator[tuple[str, str, FieldInfo]]:
    """Every setting as (section, name in YAML, field), in the order of the file."""
    for section, section_field in Settings.model_fields.items():
        for name, field in section_field.annotation.model_fields.items():  # type: ignore[union-attr]
            yield section, field.alias or name, field


def options() -> dict[str, tuple[str, str, FieldInfo]]:
    """Command-line name of every setting. Where two sections share a name, the later one carries its section's."""
    names: dict[str, tuple[str, str, FieldInfo]] = {}
    for section, name, field in fields():
        option = name.replace("_", "-")
        names[option if option not in names else f"{section}-{option}"] = (section, name, field)
    return names


def read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RequestError(f"There is no settings file {path}.", "Check the name given to --config.") from None
    except IsADirectoryError:
        raise RequestError(f"{path} is a directory, not a settings file.", f"Of a run, take {path / 'config.yaml'}.") from None
    except OSError as error:
        raise RequestError(f"The settings file {path} cannot be read: {error.strerror}.", "Check who may read it.") from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1:,}" if mark else ""
        raise RequestError(
            f"The settings file {path} cannot be understood{where}: it is no YAML in UTF-8.",
            "A section is a line such as `model:`; its settings stand below it, each after two spaces, no tab: `dropout: 0.1`.",
        ) from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise RequestError(
            f"The settings file {path} holds no sections.", f"It should have some of these: {', '.join(Settings.model_fields)}."
        )
    return {name: {} if section is None else section for name, section in content.items()}


def build_settings(content: Mapping[str, Any]) -> Settings:
    """Check nested settings, and report all that is wrong with them at once."""
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        problems = dict.fromkeys(_explain(problem) for problem in error.errors())
        raise RequestError("\n".join(problems), "`headway train --help` lists every setting.") from None


def read_settings(path: Path | None, overrides: Mapping[tuple[str, str], Any]) -> Settings:
    """Overrides over file over defaults, checked together."""
    if path is None:
        return build_settings(merge({}, overrides))
    content = read_yaml(path)
    try:
        return build_settings(merge(content, overrides))
    except RequestError as error:
        raise RequestError(error.problem, f"Look into {path}, and at what was given beside it. {error.remedy}") from None


SectionT = TypeVar("SectionT", bound=Section)


def override(section: SectionT, given: Mapping[str, Any]) -> SectionT:
    """The section with some of its settings replaced, checked like any other."""
    try:
        return type(section).model_validate({**section.model_dump(), **given})
    except ValidationError as error:
        raise RequestError("\n".join(dict.fromkeys(map(_explain, error.errors()))), "Give a value that fits.") from None


def merge(content: Mapping[str, Any], overrides: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
    """Settings from a file with options, named by (section, name), laid over them."""
    merged: dict[str, Any] = {key: dict(value) if isinstance(value, Mapping) else value for key, value in content.items()}
    for (section, name), value in overrides.items():
        found = merged.get(section) or {}
        if isinstance(found, Mapping):  # what is no section is reported with all else that is wrong
            merged[section] = {**found, name: value}
    return merged


def did_you_mean(word: str, known: list[str], before: str = "") -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f" Did you mean {before}{close[0]}?" if close else ""


_WANTED = {  # pydantic's kinds of problems, in words that whoever writes a settings file knows
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a word or a text",
    "list_type": "a list",
    "model_type": "a section, with a setting a line",
    "greater_than": "above {gt:,.12g}",
    "greater_than_equal": "at least {ge:,.12g}",
    "less_than": "below {lt:,.12g}",
    "less_than_equal": "at most {le:,.12g}",
    "literal_error": "{expected}",
    "invalid_key": "named by a word: in quotes, where YAML takes it for something else",
}


def _explain(problem: Mapping[str, Any]) -> str:
    place = [str(part) for part in problem["loc"]]
    name = ".".join(place)
    option = next((f" (--{option})" for option, (section, key, _) in options().items() if [section, key] == place[:2]), "")
    if place[:2] == ["training", "processes"]:  # a number or a word: pydantic tells of each by itself
        return f"Setting training.processes{option} must be a whole number from 1, or auto, and is {problem['input']!r}."
    if problem["type"] == "extra_forbidden":
        return f"Unknown setting {name}.{_suggest(place)}"
    if not (wanted := _WANTED.get(problem["type"], "").format(**problem.get("ctx", {}))):
        return f"Setting {name}{option}: {problem['msg']}, found {problem['input']!r}."
    meant = did_you_mean(str(problem["input"]), re.findall(r"'([^']+)'", wanted)) if problem["type"] == "literal_error" else ""
    return f"Setting {name}{option} must be {wanted}, and is {problem['input']!r}.{meant}"


def _suggest(place: list[str]) -> str:
    """A setting of that name in another section, or else the nearest of this one; of what is no section, the nearest of all."""
    full_names = [f"{section}.{name}" for section, name, _ in fields()]
    if len(place) == 1:
        by_name = {full.split(".")[1]: full for full in full_names}
        close = did_you_mean(place[0], [*Settings.model_fields, *by_name])
        return next((f" Did you mean {full}?" for name, full in by_name.items() if close == f" Did you mean {name}?"), close)
    section, name = place[0], place[-1]
    here = [full for full in full_names if full.startswith(f"{section}.")]
    elsewhere = [full for full in full_names if full.endswith(f".{name}")]
    if elsewhere:
        return f" Did you mean {elsewhere[0]}?"
    return did_you_mean(name, [full.removeprefix(f"{section}.") for full in here], f"{section}.")


def parse_corpus(text: str) -> tuple[str, float]:
    """`name` or `name:weight`, as on the command line."""
    name, colon, weight = text.rpartition(":")
    if not colon or not name:
        return text, 1.0
    try:
        value = float(weight)
    except ValueError:
        return text, 1.0
    if not 0 < value <= MOST_WEIGHT:
        raise RequestError(
            f"The weight of the corpus {name} is {weight}.",
            f"A weight is a number above 0, as in crawl.tsv:0.3, and at most {MOST_WEIGHT:,}.",
        )
    return name, value
