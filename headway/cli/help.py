"""Help in plain columns: names are whole in a terminal of any width, and settings stand in their sections."""

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

WIDTH = 120  # of the widest lines; a terminal that has less gets less
VALUES = {"int": "N", "float": "X", "str": "TEXT", "path": "PATH", "file": "PATH", "directory": "PATH"}
_TYPE = re.compile(r"<(?:list\[)?(\S+?)(?: range)?\]?>")


class Command(TyperCommand):
    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            panel = getattr(parameter, "rich_help_panel", None)
            title = "Arguments" if parameter.param_type_name == "argument" else panel or "Options"
            if record := parameter.get_help_record(ctx):
                names, told = record
                sections.setdefault(title, []).append((_TYPE.sub(_tell_value, names), told))
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class Group(TyperGroup):
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, (command.help or "").partition("\n\n")[0]) for name, command in commands if command])


def _tell_value(type_: re.Match[str]) -> str:
    """What a value looks like, as settings tell it: N for an <int range>, its choices for <a|b>."""
    return VALUES.get(type_[1].lower(), type_[1])
