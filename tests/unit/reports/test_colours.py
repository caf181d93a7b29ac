import numpy as np
import pytest

from headway.reports.colours import DARK, LIGHT, STEPS, from_oklab, make_scale, to_oklab


@pytest.mark.parametrize(
    ("colour", "lab"), [("#ffffff", (1, 0, 0)), ("#000000", (0, 0, 0)), ("#ff0000", (0.628, 0.225, 0.126))]
)
def test_known_colours(colour: str, lab: tuple[float, ...]) -> None:
    assert to_oklab(colour).tolist() == pytest.approx(lab, abs=1e-3)
    assert from_oklab(to_oklab(colour)) == colour


@pytest.mark.parametrize("stops", [*LIGHT.values(), *DARK.values()])
def test_equal_steps_look_equal(stops: tuple[str, ...]) -> None:
    scale = make_scale(*stops)
    assert (len(scale), scale[0], scale[-1]) == (STEPS, stops[0], stops[-1])
    halves = [scale] if len(stops) == 3 else [scale[:128], scale[128:]]  # a signed scale turns around at zero
    for half in halves:
        points = np.array([to_oklab(colour) for colour in half[::15]])
        steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
        assert steps.max() < 1.2 * steps.min()


@pytest.mark.parametrize("name", ["encoder", "decoder", "cross"])
def test_more_weight_is_always_darker_on_paper_and_lighter_on_a_dark_screen(name: str) -> None:
    for scale, sign in ((LIGHT[name], -1), (DARK[name], 1)):
        lightness = np.array([to_oklab(colour)[0] for colour in make_scale(*scale)[::5]])
        assert (sign * np.diff(lightness) > 0).all()
