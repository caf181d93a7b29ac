"""A translation as the line that is written for it."""

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.translator import Translation

Render = Callable[["Translation"], str]


def render_text(translation: "Translation") -> str:
    return translation.text.replace("\n", " ")


def render_json(translation: "Translation") -> str:
    return json.dumps(translation.to_json(), ensure_ascii=False)


def join_lines(translations: Iterable["Translation"], render: Render) -> bytes:
    return "".join(f"{render(translation)}\n" for translation in translations).encode()
