"""Back-translation (Sennrich et al., 2016): text of the target language alone becomes training pairs.

A model of the other direction translates it. Its translations are faulty, and the text beside them is not: what is learned from
such pairs is to write the target language. Their sources carry a tag (Caswell et al., 2019), by which the model tells them from
genuine ones; what it is to translate has none.

There are four stages, each in a directory of its own: `forward`, `reverse`, `synthetic`, and the run itself, an ordinary one on
genuine and synthetic pairs. What is complete is skipped, and what was interrupted goes on. The held-out parts are those of the
first stage: `text` has them, and the genuine pairs without them, for all others.
"""

import hashlib
import json
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from headway.amounts import amount
from headway.atomic import new_directory, write_file
from headway.bundle import Scope, read_manifest
from headway.config import Settings, build_settings, parse_corpus, read_yaml
from headway.data.back_translation import HeldOut, Texts, pair_up, tell_losses, write_texts
from headway.data.pairtext import PairWriter
from headway.data.prepare import Prepared, fingerprint, tell_changes
from headway.data.readers import check_file, open_corpus, read_lines
from headway.errors import DataError, RequestError, TrainingError
from headway.evaluation.evaluation import NOTHING
from headway.jobs.blocks import BLOCK
from headway.jobs.job import describe_request, run_tasks
from headway.jobs.local import make_local_work
from headway.jobs.render import render_text
from headway.jobs.tasks import Task
from headway.progress import Display, duration
from headway.reports.runs.record import read_run
from headway.text.subwords import VocabularyTooSmall
from headway.training.choices import ASKED, choose_task
from headway.training.directory import check_directory, locked, refuse_other_data
from headway.training.finish import TrainingResult
from headway.training.gain import find_gain
from headway.training.group import under_torchrun
from headway.training.run import prepare_run, run_training
from headway.training.state import list_checkpoints
from headway.translator import load

TAG = "<bt> "
PAIRS = "the genuine pairs"  # the name of what the stages depend on
GIBBERISH = 15.0  # chrF: below it hardly a word is right
VOCABULARY = "vocab_size"  # of the last stage, where that of the first is too small for it
SHARE = 2.0  # synthetic pairs for each genuine one in an epoch, at most, where the user gives no weights


def train_in_stages(settings: Settings, out: Path, display: Display, scope: Scope | None = None) -> TrainingResult:
    """Train without the monolingual text, train the way back, translate the text, train on all of it; tell what that gained."""
    _check(settings)
    check_directory(out)
    stages = _Stages(settings, out, display)
    with locked(out):
        stages.refuse_another()
        prepared = stages.prepare()
        asked = stages.ask(prepared)
        texts = stages.write_texts(prepared, asked)
        stages.tell(texts)
        stages.train("forward", stages.forward(), asked, scope)
        pairs = stages.find_synthetic(asked)
        if pairs:  # a larger budget does not change what the run has learned from
            display.say(f"\n[2/4] and [3/4] stay as they are: {stages.synthetic} has {amount(sum(pairs), 'pair')}.")
        else:
            stages.train("reverse", stages.reverse(), asked)
            stages.check_reverse()
            pairs = stages.translate(texts, prepared, asked)
    display.say(f"\n[4/4] {out}: on genuine and synthetic pairs.")
    try:
        result = run_training(stages.mixed(texts, pairs), out, display, scope)
    except VocabularyTooSmall as error:
        stages.enlarge_vocabulary(error)
        result = run_training(stages.mixed(texts, pairs), out, display, scope)
    metric = choose_task(settings.training, "translate").metric
    gain = find_gain(out, out / "forward", sum(pairs), "bleu" if metric == "bleu" else "chrf", display)
    write_file(out / "gained.json", gain.to_json())
    return replace(result, model=gain.model, gained=gain.story)


def _check(settings: Settings) -> None:
    """What can be known to be wrong before anything is prepared."""
    if under_torchrun():
        raise RequestError(
            "--monolingual-target trains three models one after the other, which processes of torchrun do not.",
            "Start it without torchrun: it uses all cores or GPUs of this machine.",
        )
    if (start := settings.training.init) and read_manifest(Path(start)).task == "translate":
        raise RequestError(
            f"{start} translates one way, and --monolingual-target needs a model of the other way too.",
            "Leave out --init, or begin with a model that was trained with --task denoise on both languages.",
        )
    for spec in settings.data.monolingual_target:
        check_file(Path(parse_corpus(spec)[0]))


@dataclass(frozen=True)
class _Stages:
    """Of one run: the settings of each, what it reads and leaves, and whether it is complete."""

    settings: Settings  # as given
    out: Path
    display: Display

    @property
    def text(self) -> Path:
        return self.out / "text"

    @property
    def synthetic(self) -> Path:
        return self.out / "synthetic"

    @property
    def languages(self) -> tuple[str, str]:
        return self.settings.data.source_language, self.settings.data.target_language

    @property
    def monolingual(self) -> list[Path]:
        return [Path(parse_corpus(spec)[0]) for spec in self.settings.data.monolingual_target]

    def forward(self) -> Settings:
        """All as given, but for the monolingual text."""
        return self._with_data()

    def reverse(self) -> Settings:
        """The other way, on the same pairs: also a table whose columns nobody named is turned round."""
        source, target = self.languages
        return self._like_forward(self._with_data(**self._genuine(), source_language=target, target_language=source))

    def mixed(self, texts: Texts, pairs: list[int]) -> Settings:
        """The genuine corpora, and the synthetic ones with their tag."""
        genuine, weights = self._genuine(), self._weigh_synthetic(texts, pairs)
        added = [
            _name_corpus(self.synthetic / f"pairs-{number}", weight)
            for number, (count, weight) in enumerate(zip(pairs, weights, strict=True), 1)
            if count
        ]
        prefixes = [""] * len(genuine["train"]) + [TAG] * len(added)
        data = {**genuine, "train": [*genuine["train"], *added], "prefix": prefixes}
        return self._like_forward(self._with_data(**data), _read_json(self.out / "stages.json").get(VOCABULARY))

    def _with_data(self, **changes: Any) -> Settings:
        data = self.settings.data.model_copy(update={"monolingual_target": [], "back_translation": "beam", **changes})
        return self.settings.model_copy(update={"data": data})

    def _like_forward(self, settings: Settings, larger: int | None = None) -> Settings:
        """With what the first stage chose of model, vocabulary and updates: more text is to be all that is compared. A `larger`
        vocabulary is what that text needed.
        """
        first = build_settings(read_yaml(self.out / "forward" / "config.yaml"))
        if larger:
            first = first.model_copy(update={"tokenizer": first.tokenizer.model_copy(update={"vocab_size": larger})})
        chosen: dict[str, tuple[str, ...]] = {"training": ("batch_tokens", "accumulate", "optimizer")}
        if not settings.training.init:
            chosen |= {"model": ("preset", "dropout"), "tokenizer": ("vocab_size",)}
        sections = {}
        for section, names in chosen.items():
            given, found = getattr(settings, section), getattr(first, section)
            missing = {name: getattr(found, name) for name in names if getattr(given, name) is None}
            sections[section] = given.model_copy(update=missing)
        return settings.model_copy(update=sections)

    def enlarge_vocabulary(self, error: VocabularyTooSmall) -> None:
        """Where the size was ours, and the monolingual text has characters that the first stage knew nothing of."""
        if self.settings.tokenizer.vocab_size is not None:
            raise RequestError(error.problem, f"Give --vocab-size {error.least} or more, or leave it out, and a new --out.")
        size = 2 * error.least
        _write_json(self.out / "stages.json", {**_read_json(self.out / "stages.json"), VOCABULARY: size})
        self.display.say(f"The text has characters of its own: {size:,} pieces, where the first stage has fewer.")

    def _genuine(self) -> dict[str, Any]:
        """Those corpora of which there is something to train on beside the held-out parts."""
        pairs = Texts(**_read_json(self.text / "text.json")["texts"]).pairs
        train = [
            _name_corpus(self.text / f"train-{number}", parse_corpus(spec)[1])
            for number, (spec, some) in enumerate(zip(self.settings.data.train, pairs, strict=True), 1)
            if some
        ]
        return {"train": train, "valid": str(self.text / "valid"), "test": str(self.text / "test")}

    def _weigh_synthetic(self, texts: Texts, pairs: list[int]) -> list[float]:
        """As the user says; else a fresh share of them each epoch, if they are many times the genuine ones, which teach more.

        Genuine pairs many times an epoch would be the same mixture, but an epoch, in which runs are told their length and by
        which the model's size is chosen, would grow with every file of text.
        """
        specs = self.settings.data.monolingual_target
        given = [parse_corpus(spec) for spec in specs]
        if any(name != spec for (name, _), spec in zip(given, specs, strict=True)):
            return [weight for _, weight in given]
        weights = [parse_corpus(spec)[1] for spec in self.settings.data.train]
        genuine = sum(count * weight for count, weight in zip(texts.pairs, weights, strict=True))
        return [min(1.0, SHARE * genuine / sum(pairs))] * len(pairs)

    def refuse_another(self) -> None:
        """A run that has begun without the monolingual text, before hours go into the stages that come before it."""
        begun = list_checkpoints(self.out / "checkpoints")
        if begun and TAG not in build_settings(read_yaml(self.out / "config.yaml")).data.prefix:
            refuse_other_data(self.out, ["no text that was translated back is among it"])

    def prepare(self) -> Prepared:
        """The data of the first stage; another run than the one asked for is refused."""
        return prepare_run(self.forward(), self.out / "forward", self.display)[1]

    def ask(self, prepared: Prepared) -> dict[str, str]:
        """All that the synthetic pairs depend on beside the model, by name.

        As with corpora, what changed is refused once the run has learned from it, and before that made anew, with a word.
        """
        asked = fingerprint(self.monolingual, self.display.update)
        asked[PAIRS] = hashlib.sha256((prepared.directory / "prepared.json").read_bytes()).hexdigest()
        asked["setting data.back_translation"] = self.settings.data.back_translation
        self.display.close()
        before = _read_json(self.text / "text.json").get("asked", asked)
        if changes := tell_changes(before, asked):
            if list_checkpoints(self.out / "checkpoints"):
                refuse_other_data(self.out, changes)
            self.display.say(f"{'; '.join(changes)}: {self.text} is made anew.")
            complete = _read_json(self.out / "stages.json")
            if complete.pop(VOCABULARY, None):
                _write_json(self.out / "stages.json", complete)
        return asked

    def write_texts(self, prepared: Prepared, asked: dict[str, str]) -> Texts:
        """What the stages read: before the first, so that text which is of no use is known before anything is trained."""
        record = _read_json(self.text / "text.json")
        if record.get("asked") == asked:
            return Texts(**record["texts"])
        corpora = [open_corpus(spec, *self.languages) for spec in self.settings.data.train]
        held_out = _find_held_out(prepared)
        with new_directory(self.text) as new:
            texts = write_texts(new, corpora, self.monolingual, held_out, self.languages, self.display.update)
            _write_json(new / "text.json", {"asked": asked, "texts": asdict(texts)})
        self.display.close()
        return texts

    def tell(self, texts: Texts) -> None:
        """All stages, before the first."""
        source, target = self.languages
        budget = _tell_budget(self.settings)
        for line in (
            f"{texts.tell()}.",
            "Four stages; what is complete is skipped, and the same command goes on where it stood:",
            f"  [1/4] {self.out / 'forward'}: {source} → {target} without that text, to know what it adds; {budget}",
            f"  [2/4] {self.out / 'reverse'}: {target} → {source}; {budget}",
            f"  [3/4] {self.synthetic}: {amount(sum(texts.lines), 'line')} of {target} into {source}",
            f"  [4/4] {self.out}: {source} → {target} on all of it; {budget}",
        ):
            self.display.say(line)

    def train(self, name: str, settings: Settings, asked: dict[str, str], scope: Scope | None = None) -> None:
        """One of the first two stages, unless it came to the end of the same budget on the same pairs before."""
        place, number = self.out / name, ("forward", "reverse").index(name) + 1
        complete = _read_json(self.out / "stages.json")
        wanted = {option: getattr(settings.training, option) for option in ASKED} | {"pairs": asked[PAIRS]}
        if complete.get(name) == wanted and (place / "best").exists():
            self.display.say(f"\n[{number}/4] {place} is complete.")
            return
        told = ""
        if name == "reverse" and (seconds := read_run(self.out / "forward").seconds):
            told = f", about {duration(seconds)} as the first"
        self.display.say(f"\n[{number}/4] {place}: {settings.data.source_language} → {settings.data.target_language}{told}.")
        run_training(settings, place, self.display, scope)
        _write_json(self.out / "stages.json", {**complete, name: wanted})

    def check_reverse(self) -> None:
        """Before hours go into translations that are of no use."""
        model = self.out / "reverse" / "best"
        found = read_manifest(model).provenance.metrics
        if found["test_bleu"] < NOTHING and found["test_chrf"] < GIBBERISH:  # BLEU knows no words of Chinese or Thai
            raise TrainingError(
                f"{model}, which is to translate back, has not learned to translate yet: chrF {found['test_chrf']:.1f}.",
                "Give it a larger budget, and the same command goes on with what there is; or more pairs, and a new --out.",
            )

    def find_synthetic(self, asked: dict[str, str]) -> list[int] | None:
        """How many synthetic pairs came of each monolingual text; None where that is not done."""
        record = _read_json(self.synthetic / "synthetic.json")
        return record.get("kept") if record.get("asked") == asked else None

    def translate(self, texts: Texts, prepared: Prepared, asked: dict[str, str]) -> list[int]:
        """Stage 3. What the search finds likeliest, if not told otherwise: to draw pays with a good model and much text."""
        source, target = self.languages
        self.display.say(f"\n[3/4] {self.synthetic}: {amount(sum(texts.lines), 'line')} of {target} into {source}.")
        model = self.out / "reverse" / "best"
        drawing = {"temperature": 1.0, "seed": self.settings.training.seed}
        search = drawing if self.settings.data.back_translation == "sampling" else {}
        request = describe_request([model], search, BLOCK)
        record = {"asked": asked, "models": request["models"]}
        tasks = {
            number: Task(
                [self.text / f"monolingual-{number}.{target}"],
                self.synthetic / f"translated-{number}.{source}",
                lines=lines,
            )
            for number, lines in enumerate(texts.lines, 1)
            if lines
        }
        begun = _read_json(self.synthetic / "synthetic.json")
        if any(begun.get(name) != value for name, value in record.items()):
            self._forget_translations()
            _write_json(self.synthetic / "synthetic.json", record)
        missing = [task for task in tasks.values() if task.output and not task.output.exists()]
        if missing:
            run_tasks(missing, make_local_work(load(model), search, render_text), request, BLOCK, self.display)
        return self._pair_up(tasks, texts, prepared, record)

    def _forget_translations(self) -> None:
        """Of another text, or by another model."""
        self.synthetic.mkdir(exist_ok=True)
        for path in self.synthetic.glob("translated-*"):
            path.unlink()

    def _pair_up(self, tasks: dict[int, Task], texts: Texts, prepared: Prepared, record: dict[str, Any]) -> list[int]:
        """Put the translations that can be right beside their lines, and note that the stage is complete."""
        left_out, kept = Counter[str](), [0] * len(texts.lines)
        apart = _find_held_out(prepared).digests()
        for number, task in tasks.items():
            assert task.output
            pairs = pair_up(read_lines(task.output), read_lines(task.inputs[0]), texts.usual, apart, left_out)
            with PairWriter(self.synthetic, f"pairs-{number}", self.languages) as writer:
                for pair in pairs:
                    writer.append([pair])
                    kept[number - 1] += 1
        losses = f"; left out: {tell_losses(left_out)}" if left_out else ""
        if not any(kept):
            raise DataError(
                f"No translation of the monolingual text can be right{losses}.",
                f"The reverse model is too weak, or the text is of another language: look into {self.synthetic}.",
            )
        self.display.say(f"{amount(sum(kept), 'synthetic pair')}{losses}.")
        _write_json(self.synthetic / "synthetic.json", {**record, "kept": kept, "left_out": left_out})
        return kept


def _find_held_out(prepared: Prepared) -> HeldOut:
    facts, valid, test = prepared.facts, prepared.valid, prepared.test
    return HeldOut(valid, test, [*([] if facts.valid_given else valid), *([] if facts.test_given else test)])


def _name_corpus(stem: Path, weight: float) -> str:
    return f"{stem}:{weight:.6g}" if weight != 1 else str(stem)


def _tell_budget(settings: Settings) -> str:
    """What a training may take, as far as the user said."""
    training = settings.training
    given = {"minute": training.max_minutes, "update": training.max_steps, "epoch": training.max_epochs}
    told = " or ".join(amount(value, unit) for unit, value in given.items() if value is not None)
    return f"at most {told}" if told else "as long as so much text needs"


def _read_json(path: Path) -> dict[str, Any]:
    """What a stage has written; nothing if it has not."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    write_file(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
