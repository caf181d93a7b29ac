"""The house stays a house: who may import whom, what stays light, what never comes in."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "headway").rglob("*.py"))

# Each part may import those of the lines above its own, and not its neighbours.
LAYERS = [
    ["errors"],
    ["config", "atomic", "cores", "progress", "amounts"],
    ["architectures", "directions"],
    ["nn", "text"],
    ["models", "data", "decoding", "evaluation"],
    ["bundle"],
    ["export", "imports", "family"],
    ["engines"],
    ["translation", "reading"],
    ["translator"],
    ["parity", "glass"],
    ["jobs"],
    ["reports"],
    ["training"],
    ["experiments"],
    ["serving"],
    ["cli"],
]
FLOOR = {part: floor for floor, parts in enumerate(LAYERS) for part in parts}
FREE = {"__init__", "__main__"}  # the package's own doors
PUBLIC = {
    "load": "translator",
    "Translator": "translator",
    "Translation": "translation",
    "train": "training",
    "Classifier": "family",
    "Filler": "family",
    "Generator": "family",
}  # who lives where

WITHOUT_TORCH = {
    "errors",
    "config",
    "architectures",
    "directions",
    "atomic",
    "cores",
    "progress",
    "amounts",
    "text",
    "data",
    "evaluation",
    "reports",
}
HEAVY = {"torch", "numpy", "sentencepiece", "sacrebleu", "matplotlib", "safetensors", "ctranslate2"}
LIGHT_PARTS = {"errors", "config", "amounts", "cli"}  # what a door may import before it is asked for anything
PICKLERS = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}


def name_module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if parts[-1] != "__init__" or len(parts) == 2 else parts[:-1])


def part_of(module: str) -> str:
    """`nn` for headway.nn.attention, `config` for headway.config."""
    return [*module.split("."), "__init__"][1]


def find_imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Every module that is imported anywhere in a tree, functions included, with its full name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            if base == "headway":  # `from headway import translator` is an import of headway.translator
                names = [alias.name for alias in node.names if alias.name != "__version__"]
                yield from (f"headway.{PUBLIC.get(name, name)}" for name in names)
            else:
                yield base


def find_imports_at_once(tree: ast.Module) -> Iterator[str]:
    """What is imported as soon as the module is: not in functions, not for the type checker alone."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield from find_imports(node, "headway")
            elif not for_types and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                waiting.append(node)


def break_the_law(module: str, is_package: bool, source: str) -> list[str]:
    """The imports of a module that the order of the layers does not allow."""
    part = part_of(module)
    if part in FREE:
        return []
    if part not in FLOOR:
        return [f"{module}: `{part}` has no place in LAYERS"]
    broken = []
    package = module if is_package else module.rpartition(".")[0]
    for imported in find_imports(ast.parse(source), package):
        if imported.split(".")[0] in ("torch", "torchvision") and part in WITHOUT_TORCH:
            broken.append(f"{module} imports {imported}: {part} does without torch")
        if imported.split(".")[0] != "headway":
            continue
        other = part_of(imported)
        allowed = other == part or (part, other) == ("data", "text") or FLOOR.get(other, len(LAYERS)) < FLOOR[part]
        if not allowed:
            broken.append(f"{module} imports {imported}: `{other}` does not stand before `{part}`")
    return broken


def find_pickles(source: str) -> list[str]:
    """Whatever could run code from a data file."""
    tree = ast.parse(source)
    found = [f"import {name}" for name in find_imports(tree, "headway") if name.split(".")[0] in PICKLERS]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("torch.load", "torch.save"):
            found.append(ast.unparse(node))
        elif isinstance(node, ast.ImportFrom) and node.module == "torch":
            found += [f"torch.{alias.name}" for alias in node.names if alias.name in ("load", "save")]
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
            found.append(ast.unparse(node))
    return found


def modules_after(statement: str) -> set[str]:
    """The top-level modules that a fresh Python has loaded after a statement."""
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in result.stdout.split()}


@pytest.mark.parametrize("path", SOURCES, ids=name_module)
def test_imports_go_one_way(path: Path) -> None:
    assert break_the_law(name_module(path), path.name == "__init__.py", path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", SOURCES, ids=name_module)
def test_nothing_is_pickled(path: Path) -> None:
    assert find_pickles(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("door", ["headway/__init__.py", "headway/__main__.py", "headway/cli/__init__.py"])
def test_doors_open_at_once(door: str) -> None:
    imported = list(find_imports_at_once(ast.parse((ROOT / door).read_text(encoding="utf-8"))))
    assert [name for name in imported if name.split(".")[0] in HEAVY] == []
    assert [name for name in imported if name.split(".")[0] == "headway" and part_of(name) not in LIGHT_PARTS] == []


@pytest.mark.parametrize("module", ["headway", "headway.cli"])
def test_importing_brings_in_nothing_heavy(module: str) -> None:
    assert modules_after(f"import {module}") & HEAVY == set()


def test_parts_without_torch_do_not_get_it_from_others_either() -> None:
    names = [name_module(path) for path in SOURCES]
    light = [name for name in names if part_of(name) in WITHOUT_TORCH]
    assert "torch" not in modules_after("import " + ", ".join(light))


def test_every_part_is_a_package_that_gets_installed() -> None:
    """setuptools passes over a folder without `__init__.py`, and the installed Headway would lack it."""
    assert [str(path) for path in SOURCES if not (path.parent / "__init__.py").exists()] == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("headway.nn.attention", "import headway.models.transformer"),
        ("headway.nn.attention", "from headway.text import tokenizer"),
        ("headway.nn.attention", "from headway import training"),
        ("headway.nn.attention", "from headway import load"),
        ("headway.nn.attention", "from ..models import transformer"),
        ("headway.nn.attention", "def late():\n    from headway.bundle import read"),
        ("headway.text.tokenizer", "from headway.data import store"),
        ("headway.evaluation.metrics", "def late():\n    import torch.nn"),
        ("headway.reports.curves", "from headway.training.loop import train"),
        ("headway.helpers", ""),
    ],
)
def test_the_law_has_teeth(module: str, source: str) -> None:
    assert len(break_the_law(module, False, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("headway.data.store", "from headway.text.tokenizer import Tokenizer"),
        ("headway.nn.layers", "from .attention import attend\nfrom headway.nn import masks"),
        ("headway.training.loop", "from headway.reports.curves import draw_learning_curve\nimport torch"),
        ("headway.cli.train", "from headway import __version__, load\nfrom headway.training.run import train"),
    ],
)
def test_the_law_lets_honest_imports_through(module: str, source: str) -> None:
    assert break_the_law(module, False, source) == []


@pytest.mark.parametrize(
    "source",
    ["import pickle", "torch.load(path)", "save = torch.save", "from torch import load", "np.load(path, allow_pickle=True)"],
)
def test_pickles_are_smelled(source: str) -> None:
    assert len(find_pickles(source)) == 1


def test_doors_are_looked_through() -> None:
    source = "if TYPE_CHECKING:\n    import a\ntry:\n    import b\nexcept ImportError:\n    import c\ndef f():\n    import d\n"
    assert sorted(find_imports_at_once(ast.parse(source))) == ["b", "c"]


def test_git_ignores_no_source():
    """A rule such as `runs/` would keep a package of that name out of every clone."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    names = [
        str(path.relative_to(ROOT)) for folder in ("headway", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")
    ]
    found = subprocess.run(["git", "check-ignore", "--no-index", *names], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.stdout == ""
