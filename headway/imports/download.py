"""Models from the Hugging Face Hub, when the user asks for exactly that: `hf:NAME`. Only files that an import reads."""

from pathlib import Path

from headway.errors import HeadwayError, RequestError

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
]


def download(name: str) -> Path:
    """The directory, in the library's own cache, with the files of the model NAME, such as Helsinki-NLP/opus-mt-en-de."""
    try:
        from huggingface_hub import errors, snapshot_download
    except ImportError:
        problem = "huggingface_hub, which downloads models, is not installed."
        raise HeadwayError(problem, "Install it: pip install 'headway[huggingface]'") from None
    try:
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
