"""The one change that Headway makes to text: Unicode's canonical composition (NFC)."""

import re
import unicodedata

_SURROGATES = re.compile("[\ud800-\udfff]")


def normalize(text: str) -> str:
    """One spelling for what looks the same ("é" typed as one character or as two); nothing is lowercased or cleaned."""
    return text if text.isascii() else replace_surrogates(unicodedata.normalize("NFC", text))


def replace_surrogates(text: str) -> str:
    """A lone surrogate, which a Python string may hold but no UTF-8 text can, becomes U+FFFD."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)
