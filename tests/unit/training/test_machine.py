"""What a run takes of the machine that it is on."""

import os

import pytest
import torch

from headway.config import TrainingSettings
from headway.training import machine
from headway.training.machine import KEPT_PRODUCTS, bound_products, choose_division


def test_half_precision_is_for_processors_that_have_it_and_models_that_are_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(d_model: int, **given: str) -> str | None:
        return choose_division(TrainingSettings.model_validate({"batch_tokens": 1024, **given}), d_model).precision

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)  # a GPU's precision is another matter
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True, raising=False)
    assert [choose(width) for width in (128, 255, 256, 512)] == ["fp32", "fp32", "bf16", "bf16"]
    assert choose(128, precision="bf16") == "bf16"
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda: False, raising=False)
    assert choose(512) == "fp32"


def test_the_peak_is_that_of_the_precision_and_products_without_instructions_for_it_stay_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds, sizes = {torch.float32: 2e-12, torch.bfloat16: 1e-12}, []

    def time_product(size: int, dtype: torch.dtype, device: torch.device) -> float:
        sizes.append(size)
        return size**3 * seconds[dtype]

    def measure(precision: str) -> float:
        machine._measure_peak.cache_clear()
        return machine.measure_peak(TrainingSettings.model_validate({"precision": precision}), torch.device("cpu"))

    monkeypatch.setattr(machine, "_time_product", time_product)
    assert [measure("fp32"), measure("bf16")] == pytest.approx([1e12, 2e12]) and max(sizes) > 1000
    seconds[torch.bfloat16] = 1e-9
    sizes.clear()
    assert measure("bf16") == pytest.approx(2e9) and max(sizes) < 500
    machine._measure_peak.cache_clear()


def test_products_of_earlier_updates_are_forgotten_unless_the_user_says_how_many_to_keep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
    for name in names:
        monkeypatch.setenv(name, "16")
    bound_products()
    assert [os.environ[name] for name in names] == ["16", "16"]
    for name in names:
        monkeypatch.delenv(name)
    bound_products()
    assert [os.environ[name] for name in names] == [str(KEPT_PRODUCTS)] * 2
