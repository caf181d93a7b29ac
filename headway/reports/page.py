"""Pages that people keep: one HTML file with all that it needs inside it, which asks nothing of any network.

A page is a template beside this file that begins with `{% extends "page.html" %}`: it has the shared type and colours, is dark
on a dark screen, and lets nothing in from outside. What is told to it is escaped. A page with a script allows it in its block
`scripts`.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **told: Any) -> str:
    """A template of this directory, filled."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise HeadwayError("Writing the page needs Jinja2.", "pip install headway[report]") from None
    return _environment().get_template(template).render(**told)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)
