"""The one change that Headway makes to text: Unicode's canonical composition (NFC)."""

import re
import unicodedata

_SURROGATES = re.compile("[\ud800-\udfff]")


def normalize(text: str) -> str:
    """One spelling for what looks the same ("é" typed as one character or as two); nothing is lowercased or cleaned.

    A lone surrogate, which a Python string may hold but no UTF-8 text can, becomes U+FFFD.
    """
    if text.isascii():
        return text
    return _SURROGATES.sub("\ufffd", unicodedata.normalize("NFC", text))
