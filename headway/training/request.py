"""What can be known to be wrong with a request before anything is read: options that the task or the model does not have."""

from headway.architectures import PATCH_SIZE, has_one_embedding
from headway.bundle import Bundle
from headway.config import Family, Section, Settings, Task
from headway.data.prepare import directions_of, reads_pictures
from headway.errors import RequestError
from headway.models.presets import Needs, build_family
from headway.text.tags import find_tags
from headway.training.choices import choose_family, choose_task, choose_vocabulary
from headway.training.machine import check_optimizer

FITTING: dict[Task, tuple[Family, ...]] = {
    "translate": ("transformer", "t5"),
    "denoise": ("transformer", "t5"),
    "span": ("t5",),
    "lm": ("gpt",),
    "mlm": ("bert",),
    "classify": ("bert", "vit"),
}

# Settings that only some tasks or families have; all others have a meaning for each.
OF_TASKS: dict[str, tuple[Task, ...]] = {
    "prefix": ("translate",),
    "monolingual_target": ("translate",),
    "back_translation": ("translate",),
    "other_names": ("translate",),
    "hidden": ("denoise", "span", "mlm"),
    "span": ("denoise", "span"),
    "whole_words": ("mlm",),
    "max_ratio": ("translate",),
    "r_drop": ("translate",),
}
OF_FAMILIES: dict[str, tuple[Family, ...]] = {
    "n_decoder_layers": ("transformer", "t5"),
    "d_k": ("transformer", "t5"),
    "d_v": ("transformer",),
    "attention_dropout": ("transformer",),
    "activation_dropout": ("transformer",),
    "word_dropout": ("transformer",),
    "norm": ("transformer",),
    "positions": ("transformer",),
    "max_positions": ("transformer", "bert", "gpt"),
    "scale_attention": ("transformer",),
    "tie": ("transformer", "t5"),
    "patch_size": ("vit",),
    "image_size": ("vit",),
    "shift": ("vit",),
}
DROPOUTS = ("dropout", "attention_dropout", "activation_dropout", "word_dropout")  # as much of a shape as may change
FREE = {*DROPOUTS, "sampling", "vocabulary"}  # what a model to begin with does not fix


def check_request(settings: Settings) -> None:
    _check_needed(settings)
    task, family = settings.data.task, family_of(settings)
    pictures = reads_pictures(settings)
    if not _fits(family, settings):
        fitting = "vit" if pictures else " or ".join(one for one in FITTING[task] if one != "vit")
        what = f"{task} of {'pictures' if pictures else 'text'}" if task == "classify" else task
        raise RequestError(f"The task {what} is not for the family {family}.", f"It is for {fitting}.")
    foreign = [_option(name) for name in _find_foreign(settings, task, family)]
    if foreign:
        raise RequestError(
            f"The task {task} with a model of the family {family} has no {', '.join(foreign)}.", "Leave that out."
        )
    if settings.tokenizer.vocabulary and not settings.training.init:
        raise RequestError(
            "--vocabulary says what becomes of the vocabulary of a model to begin with, and there is none.",
            "Name one with --init, or leave it out.",
        )
    check_optimizer(settings.training)
    _check_back_translation(settings)
    choose_task(settings.training, task)
    if task == "translate":
        of_directions = {one.prefix.strip() for one in directions_of(settings)}
        for prefix in settings.data.prefix:
            if taken := of_directions & {*find_tags(prefix)}:
                raise RequestError(
                    f"The prefix {prefix!r} has {min(taken)}, which is the tag of a language in this run.", "Take another word."
                )
    if task == "lm" and (settings.model.max_positions or settings.data.max_length) < settings.data.max_length:
        raise RequestError(
            f"A model of {settings.model.max_positions} positions cannot read {settings.data.max_length} pieces at once.",
            "Give --max-length alone.",
        )
    if not settings.training.init and (settings.model.preset or settings.model.d_model):
        size = settings.data.image_size or settings.model.patch_size or PATCH_SIZE
        needs = Needs(source_vocab=1, target_vocab=1, shared=settings.tokenizer.shared, image_size=size)
        build_family(family, settings.model, needs)


def family_of(settings: Settings) -> Family:
    return settings.model.family or choose_family(settings.data.task, pictures=reads_pictures(settings))


def check_start(settings: Settings, start: Bundle) -> None:
    """A model to begin with must be able to do the task. Its shape stays, and its vocabulary too unless a new one is wanted."""
    kind, task = start.manifest.architecture.kind, settings.data.task
    if not _fits(kind, settings):
        raise RequestError(
            f"{start.directory} is a model of the kind {kind}, which the task {task} cannot begin with on these data.",
            "Name another --init, or another --task.",
        )
    new = choose_vocabulary(settings, start) == "new"
    if new:
        _check_new_vocabulary(settings, start)
    given = _find_given(settings.model) if new else {**_find_given(settings.model), **_find_given(settings.tokenizer)}
    own = {**vars(start.manifest.architecture), **vars(start.manifest.tokenizer), "family": kind}
    free = own.keys() & FREE
    other = {name: value for name, value in given.items() if name not in free and own.get(name) != value}
    if other:
        has = "shape" if new else "shape and vocabulary"
        may = [*map(_option, sorted(free)), *(["settings of the tokenizer"] if new else [])]
        is_vocabulary = settings.data.task == "translate" and _find_given(settings.tokenizer).keys() & other.keys()
        more = " --vocabulary new learns another vocabulary." if is_vocabulary else ""
        raise RequestError(
            f"{start.directory} has its own {has}, which {', '.join(map(_option, other))} would change.",
            f"Leave that out; only {', '.join(may)} may be given.{more}",
        )


def _check_new_vocabulary(settings: Settings, start: Bundle) -> None:
    if settings.data.task != "translate":
        raise RequestError(
            f"A new vocabulary is for models that learn to translate; the task is {settings.data.task}.",
            "Leave out --vocabulary new: the model keeps its own.",
        )
    if not settings.tokenizer.shared and has_one_embedding(start.manifest.architecture):
        raise RequestError(
            f"{start.directory} has one embedding for both languages, which cannot serve two vocabularies.",
            "Leave out --no-shared.",
        )


def _fits(family: Family, settings: Settings) -> bool:
    """Pictures are for ViT, and texts for the others."""
    task = settings.data.task
    return family in FITTING[task] and (task != "classify" or (family == "vit") == reads_pictures(settings))


def _check_needed(settings: Settings) -> None:
    data = settings.data
    needed: list[tuple[str, object]] = [("--train", data.train)]
    if data.task == "translate":
        needed += [("--from", data.source_language), ("--to", data.target_language)]
    missing = [option for option, value in needed if not value]
    if missing:
        raise RequestError(
            f"Not given: {', '.join(missing)}.", "As in: headway train --train data/train --from en --to de --out runs/en-de"
        )


def _check_back_translation(settings: Settings) -> None:
    data = settings.data
    if not data.monolingual_target:
        if data.back_translation != "beam":
            raise RequestError(
                "There is no text that --back-translation could be done with.", "Name it: --monolingual-target more.de"
            )
        return
    if data.prefix:
        raise RequestError(
            "--monolingual-target marks what it adds with a prefix of its own, and takes no others.", "Leave out --prefix."
        )
    if len(directions_of(settings)) > 1:
        raise RequestError(
            "--monolingual-target is for a model of one direction.", "Give one language to --from, and one to --to."
        )
    if data.source_language == data.target_language:
        raise RequestError(
            f"Nothing is translated back from {data.target_language} to {data.source_language}.", "Name two languages."
        )


def _find_foreign(settings: Settings, task: Task, family: Family) -> list[str]:
    given = {**_find_given(settings.data), **_find_given(settings.model), **_find_given(settings.training)}
    of_task = [name for name, tasks in OF_TASKS.items() if name in given and task not in tasks]
    return of_task + [name for name, families in OF_FAMILIES.items() if name in given and family not in families]


def _find_given(section: Section) -> dict[str, object]:
    """What differs from the default, be it by an option or by a file."""
    return section.model_dump(exclude_defaults=True)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
