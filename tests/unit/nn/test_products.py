"""Which library computes products, and when."""

import pytest
import torch

from headway.nn import products
from headway.nn.products import are_wide, has_wide_products, wide_products


@pytest.fixture
def asked_anew():
    """What this processor has is asked once: before a test that changes the answer, and after it."""
    has_wide_products.cache_clear()
    yield
    has_wide_products.cache_clear()


@pytest.mark.usefixtures("asked_anew")
@pytest.mark.parametrize(("processor", "capability", "is_wide"), [
    ("AMD EPYC 9555", "AVX512", True),
    ("AMD EPYC 7763", "AVX2", False),
    ("Intel(R) Xeon(R) Platinum 8480+", "AVX512", False),
])  # fmt: skip
def test_they_are_for_processors_that_are_given_narrow_ones_and_while_a_block_runs(
    processor: str, capability: str, is_wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "name_processor", lambda: processor)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(torch.Tensor, "__matmul__", lambda left, right: torch.mm(left.double(), right.double()))
    with wide_products():
        assert are_wide() == is_wide
        with wide_products():
            pass
        assert are_wide() == is_wide
    assert not are_wide()


@pytest.mark.usefixtures("asked_anew")
def test_they_are_left_where_they_would_be_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def multiply(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        rounded = torch.backends.mkldnn.matmul.fp32_precision == "bf16" and left.dtype == torch.float32
        return torch.mm(left.bfloat16(), right.bfloat16()).float() if rounded else torch.mm(left, right)

    monkeypatch.setattr(products, "name_processor", lambda: "AMD of a later year")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.setattr(torch.Tensor, "__matmul__", multiply)
    with wide_products():
        assert not are_wide()
