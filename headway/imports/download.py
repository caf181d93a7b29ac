"""Models from the Hugging Face Hub, when the user asks for exactly that: `hf:NAME`. Only files that an import reads."""

from fnmatch import fnmatch
from pathlib import Path

from headway.errors import BundleError, HeadwayError, RequestError
from headway.imports.huggingface import PICKLED

PREFIX = "hf:"
FILES = [
    "config.json",
    "generation_config.json",
    "preprocessor_config.json",
    "model.safetensors",
    "model-*.safetensors",
    "model.safetensors.index.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.json",
    "target_vocab.json",
    "vocab.txt",
    "merges.txt",
    "source.spm",
    "target.spm",
    "spiece.model",
    "target_tokenizer/tokenizer.json",
    "target_tokenizer/tokenizer_config.json",
]

_CONVERT = """In another environment, with transformers, and only if you trust who made it, convert it:
    import transformers
    from huggingface_hub import snapshot_download
    name, new = "{name}", "{new}"
    snapshot_download(name, allow_patterns=["*.json", "*.txt", "*.spm", "*.model"], local_dir=new)
    kind = getattr(transformers, transformers.AutoConfig.from_pretrained(name).architectures[0])
    kind.from_pretrained(name).save_pretrained(new)
Then: headway import {new}"""


def download(name: str) -> Path:
    """The directory, in the library's own cache, with the files of the model NAME, such as Helsinki-NLP/opus-mt-en-de."""
    try:
        from huggingface_hub import errors, snapshot_download
    except ImportError:
        problem = "huggingface_hub, which downloads models, is not installed."
        raise HeadwayError(problem, "Install it: pip install 'headway[huggingface]'") from None
    try:
        _refuse_pickles(name, _list_files(name))
        return Path(snapshot_download(name, allow_patterns=FILES))
    except errors.HFValidationError:
        raise RequestError(
            f"{name!r} cannot be the name of a model.", "A name is as in hf:Helsinki-NLP/opus-mt-en-de."
        ) from None
    except errors.GatedRepoError:
        raise HeadwayError(
            f"{name} is handed out to those only whom its makers let.", "Ask for it on huggingface.co, then: hf auth login"
        ) from None
    except errors.RepositoryNotFoundError:
        raise RequestError(
            f"There is no model {name} on huggingface.co, or it is private.",
            "Check the name, as in hf:Helsinki-NLP/opus-mt-en-de.",
        ) from None
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise HeadwayError(
            f"{name} could not be downloaded: {reason}",
            "Check the network; or copy the model's directory here by other means, and import that.",
        ) from None


def _list_files(name: str) -> list[str]:
    """None without a network: what was downloaded before may do."""
    from huggingface_hub import errors, list_repo_files

    try:
        return list(list_repo_files(name))
    except (errors.HFValidationError, errors.RepositoryNotFoundError):
        raise
    except (errors.HfHubHTTPError, OSError):
        return []


def _refuse_pickles(name: str, files: list[str]) -> None:
    pickled = sorted(file for file in files if "/" not in file and any(fnmatch(file, pattern) for pattern in PICKLED))
    if pickled and not any(fnmatch(file, "model*.safetensors") for file in files):
        raise BundleError(
            f"{name} has its weights in {', '.join(pickled)} only, which could run anything when read; "
            "Headway reads model.safetensors.",
            _CONVERT.format(name=name, new=name.rpartition("/")[2]),
        )
