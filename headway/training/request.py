"""What can be known to be wrong with a request before anything is read: options that the task or the model does not have."""

from headway.architectures import PATCH_SIZE
from headway.bundle import Bundle
from headway.config import Family, Section, Settings, Task
from headway.data.prepare import directions_of, reads_pictures
from headway.errors import RequestError
from headway.models.presets import Needs, build_family
from headway.text.tags import find_tags
from headway.training.choices import choose_family, choose_task

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
    "hidden": ("denoise", "span", "mlm"),
    "span": ("denoise", "span"),
    "whole_words": ("mlm",),
    "max_ratio": ("translate",),
}
OF_FAMILIES: dict[str, tuple[Family, ...]] = {
    "n_decoder_layers": ("transformer", "t5"),
    "d_k": ("transformer", "t5"),
    "d_v": ("transformer",),
    "norm": ("transformer",),
    "positions": ("transformer",),
    "max_positions": ("transformer", "bert", "gpt"),
    "scale_attention": ("transformer",),
    "tie": ("transformer", "t5"),
    "patch_size": ("vit",),
    "image_size": ("vit",),
    "shift": ("vit",),
}


def check_request(settings: Settings) -> None:
    _check_needed(settings)
    task, family = settings.data.task, family_of(settings)
    pictures = reads_pictures(settings)
    if not _fits(family, settings):
        fitting = "vit" if pictures else " or ".join(one for one in FITTING[task] if one != "vit")
        what = f"{task} of {'pictures' if pictures else 'text'}" if task == "classify" else task
        raise RequestError(f"The task {what} is not for the family {family}.", f"It is for {fitting}.")
    foreign = [f"--{name.replace('_', '-')}" for name in _find_foreign(settings, task, family)]
    if foreign:
        raise RequestError(
            f"The task {task} with a model of the family {family} has no {', '.join(foreign)}.", "Leave that out."
        )
    choose_task(settings.training, task)
    if task == "translate":
        directions_of(settings)
        for prefix in settings.data.prefix:
            find_tags(prefix)
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
    """A model to begin with must be able to do the task, and brings its own shape and its own vocabulary."""
    kind, task = start.manifest.architecture.kind, settings.data.task
    if not _fits(kind, settings):
        raise RequestError(
            f"{start.directory} is a model of the kind {kind}, which the task {task} cannot begin with on these data.",
            "Name another --init, or another --task.",
        )
    given = {**_find_given(settings.model), **_find_given(settings.tokenizer)}
    own = {**vars(start.manifest.architecture), **vars(start.manifest.tokenizer), "family": kind}
    other = [f"--{n.replace('_', '-')}" for n, v in given.items() if n not in ("dropout", "sampling") and own.get(n) != v]
    if other:
        raise RequestError(
            f"{start.directory} has its own shape and vocabulary, which {', '.join(other)} would change.",
            "Leave that out; only --dropout and --sampling may be given.",
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


def _find_foreign(settings: Settings, task: Task, family: Family) -> list[str]:
    given = {**_find_given(settings.data), **_find_given(settings.model)}
    of_task = [name for name, tasks in OF_TASKS.items() if name in given and task not in tasks]
    return of_task + [name for name, families in OF_FAMILIES.items() if name in given and family not in families]


def _find_given(section: Section) -> dict[str, object]:
    """What differs from the default, be it by an option or by a file."""
    return section.model_dump(exclude_defaults=True)
