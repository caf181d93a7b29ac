"""Which engine does what was asked: torch for all, CTranslate2 for what it can, which is nearly everything, much faster."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from headway.bundle import Bundle
from headway.cores import count_cores
from headway.engines.engine import Engine
from headway.errors import RequestError
from headway.export.ctranslate2 import check_convertible

if TYPE_CHECKING:
    from headway.engines.ctranslate2 import CTranslate2Engine
    from headway.engines.torch import TorchEngine

EngineName = Literal["auto", "torch", "ctranslate2"]
ComputeType = Literal["auto", "float32", "int8"]


class Engines:
    """The engines of a bundle, or of an ensemble of several, each made when it is first needed."""

    def __init__(
        self,
        bundles: Sequence[Bundle],
        name: EngineName = "auto",
        compute_type: ComputeType = "auto",
        threads: int | None = None,
    ) -> None:
        self.bundles, self.name, self._compute_type = bundles, name, compute_type
        self._threads = threads or count_cores()
        if len(bundles) > 1:
            _check_same_vocabulary(bundles)
            self._refuse(["average several models"])

    def choose(self, only_torch: Sequence[str] = (), *, seeded: bool = False) -> Engine:
        """`only_torch` names what is asked for that CTranslate2 cannot do, as verbs. Seeded draws it can do, but not twice."""
        self._refuse(only_torch)
        free = self.name == "auto" and (seeded or not self._is_convertible())
        if not (self.name == "torch" or only_torch or len(self.bundles) > 1 or free):
            return self.ctranslate2
        if self._compute_type == "int8":
            raise RequestError("Torch, which is needed for this, does not compute in int8.", "Leave out --compute-type.")
        return self.torch

    def must_convert(self) -> bool:
        """Whether the first translation waits some seconds for the CTranslate2 form."""
        from headway.engines.converted import has_form

        alone = self.name != "torch" and len(self.bundles) == 1
        return alone and self._is_convertible() and not has_form(self.bundles[0])

    def _refuse(self, only_torch: Sequence[str]) -> None:
        if self.name == "ctranslate2" and only_torch:
            raise RequestError(f"CTranslate2 cannot {' or '.join(only_torch)}.", "The torch engine can: --engine torch.")

    def _is_convertible(self) -> bool:
        try:
            check_convertible(self.bundles[0])
        except RequestError:
            return False
        return True

    @cached_property
    def torch(self) -> "TorchEngine":
        from headway.engines.torch import TorchEngine
        from headway.models.encoder_decoder import EncoderDecoder

        models = [model for bundle in self.bundles if isinstance(model := bundle.build_model(), EncoderDecoder)]
        return TorchEngine(models, self.bundles[0].tokenizers.target, workers=self._threads)

    @cached_property
    def ctranslate2(self) -> "CTranslate2Engine":
        from headway.engines.converted import find_form, make_form
        from headway.engines.ctranslate2 import CTranslate2Engine

        bundle = self.bundles[0]
        check_convertible(bundle)
        form = find_form(bundle) or make_form(bundle)
        return CTranslate2Engine(form, bundle.tokenizers, compute_type=self.compute_type, replicas=self._threads)

    @property
    def compute_type(self) -> Literal["float32", "int8"]:
        """What was asked for; otherwise what was measured to be best when the model was made; otherwise what loses nothing."""
        from headway.engines.ctranslate2 import has_int8

        measured = self.bundles[0].manifest.ctranslate2
        if self._compute_type == "int8" and not has_int8():
            raise RequestError("CTranslate2 cannot compute in int8 on this processor.", "Give --compute-type float32.")
        if self._compute_type != "auto":
            return self._compute_type
        return measured.compute_type if measured and has_int8() else "float32"


def _check_same_vocabulary(bundles: Sequence[Bundle]) -> None:
    first, *others = bundles
    for other in others:
        if other.tokenizer_sums() != first.tokenizer_sums():
            raise RequestError(
                f"{first.directory} and {other.directory} have different vocabularies and cannot translate together.",
                "An ensemble is made of models that were trained on the same prepared data, for example with other --seed.",
            )
