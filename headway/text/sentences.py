"""Long text in parts that a model can take, and their translations put together again: nothing is lost on the way.

A model learns from sentences, and is lost beyond the longest of them. So a text is split into sentences, by rules that serve
many languages at once, and a sentence that is still too long is cut where it hurts least. Parts always concatenate to the text.
"""

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

from headway.text.normalize import normalize

Count = Callable[[Sequence[str]], Sequence[int]]  # how many pieces each text has; at most one for each byte, and one more

# Unicode's Sentence_Terminal, the scripts in use today; and the ellipsis. White space follows these ...
_STOPS = ".!?…‽\u037e։؝؞؟۔܀܁܂߹᙮᠃᠉᥄᥅᭚᭛᭞᭟᰻᰼᱾᱿⸮⸼꓿꘎꘏꛳꛷꡶꡷꣎꣏꤯꧈꧉꩝꩞꩟꫰꫱꯫"
# ... and need not follow these, which stand for nothing else, or belong to scripts that write none.
_FULL_STOPS = "。｡！？．﹒﹖﹗‼⁇⁈⁉।॥။។៕።፧፨"
_CLOSING = "\"'”’“‘»«›‹)]}）］｝」』】〉》〕〗〙｣＂＇*"  # “ and « close as well, in German and Danish
_OPENING = "\"'“”„‚‘’«»‹›([{（［｛「『【〈《〔〖〘｢＂＇¿¡*•·‒–—―-"  # dashes begin the lines of a dialogue
_CLAUSE_MARKS = ",;:–—،؛·՝၊፣፤፥"
_FULL_CLAUSE_MARKS = "、，；：﹐﹑﹔﹕､"
# Thai, Lao, Tibetan, Burmese, Khmer, kana and Han with their marks: scripts that set no space between words.
_UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u19e0-\u19ff\u3000-\u312f\u31f0-\u9fff"
    "\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff9f\U00020000-\U0003ffff"
)

_STOP, _FULL_STOP, _CLOSE = re.escape(_STOPS), re.escape(_FULL_STOPS), re.escape(_CLOSING)
_GREEK = "Ͱ-Ͽἀ-῿"
_BLANK_LINE = r"\n[^\S\n]*\n"

# Cheap, and true of whatever may hold a second sentence: most lines end here. One class to begin with makes the search fast.
_MAYBE_MORE = re.compile(
    rf"[{_STOP}{_FULL_STOP};\n](?:(?<![;\n])[\s{_STOP}{_FULL_STOP}{_CLOSE}{_UNSPACED}]|(?<=[{_FULL_STOP}])."
    rf"|(?<=[{_GREEK}];)[\s{_CLOSE}]|(?<=\n)[^\S\n]*\n)"
)
# It never gives back what it has taken, so that a line of dots takes no longer than another. French sets a space before ».
_MAYBE_END = re.compile(
    rf"(?P<marks>(?:[{_STOP}{_FULL_STOP}]|(?<=[{_GREEK}]);)[{_STOP}{_FULL_STOP}{_CLOSE}]*(?:[ \u00a0\u202f]»(?=\s|\Z))?)"
    rf"(?P<space>\s*)|{_BLANK_LINE}\s*"
)
_OPENING_RUN = re.compile(rf"[\s{re.escape(_OPENING)}]*(?:\.\.\.|…)?[\s{re.escape(_OPENING)}]*")
_WITHOUT_CLOSING = str.maketrans("", "", _CLOSING + " \u00a0\u202f")
_WORD_CHARACTER = re.compile(r"[^\W_]")
_BEFORE_TOKEN = re.compile(r".*[\s()\[\]{}\"'“”„‚‘’«»‹›/‒–—―-]", re.DOTALL)
_NEXT_WORD = re.compile(r"([^\W\d_]+)(?:['’][^\W\d_]{1,2}\b)?(?![\w.'’])")
_LETTERS = re.compile(r"[^\W\d_]+")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
_ENUMERATION = re.compile(r"[\d.]+|[IVXLC]+|[^\W\d_]")
_ORDINAL = re.compile(r"\d{1,3}|[IVXLC]+")
_ALONE_UNSPACED = re.compile(rf"[{_UNSPACED}{_FULL_STOP}]")
_HIRAGANA = re.compile("[\u3041-\u309f]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Something always follows these.
_TITLES = _words(
    "Mr Mrs Ms Dr Drs Prof Rev Hon Gen Col Sgt Lt Capt Cmdr Gov Sen Rep Pres Messrs Mt vs viz cf approx e.g i.e "
    "Hr Hrn Fr Frl Dipl Ing bzw ca z.B d.h u.a o.ä m.a.W i.d.R z.T vgl sog evtl ggf inkl exkl zzgl geb gest Nr Hl "
    "M MM Mme Mmes Mlle Mlles Mgr c.-à-d p.ex Sra Srta Sres Dª Dña Ud Uds Vd Vds p.ej Excmo Excma "
    "Sig Dott dhr mevr Exmo ул им проф акад डॉ प्रो"
)
# They may end a sentence: they do before a word that often begins one.
_SHORT_FORMS = _words(
    "St Ste Ft Jr Sr Inc Ltd Co Corp Bros etc al dept univ Ave Blvd Rd Hwy Esq "
    "usw usf ff Abt allg bes ehem einschl insb Str Tel Mio Mrd Mill Std Min Sek Ztr ev kath röm "
    "av bd chap éd env tél apr EE UU Cía Avda Depto tel dpto ej руб тыс млн стр гг см пр"
)
# Only a number makes them what they are: "No. 5", but "No. Never."
_BEFORE_NUMBERS = _words(
    "no nos No Nos n° nº fig figs Fig Figs art Art arts sec Sec sect vol Vol vols pp p pg ch chap Abs Kap Bd Bde Abb Tab Ziff "
    "Rn núm pág págs cap op Op max min Max Jan Feb Mar Mär Apr Jun Jul Aug Sep Sept Oct Okt Nov Dec Dez janv févr avr juil déc"
)
_MONTHS = _words(
    "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember "
    "Jan Feb Apr Aug Sep Sept Okt Nov Dez"
)
_BEFORE_ORDINALS = _words(
    "am im der die das des dem den vom zum zur beim jede jeder jedes jeden jedem sein seine seinen seinem seiner seines "
    "ihr ihre ihren ihrem ihrer ihres mein meine meinen meinem meiner unser unsere unseren unserem unserer"
)
_BEGINNERS = _words(
    "The A An This That These Those He She It They We You I In On At But And Or So Then There Their His Her Its Our My "
    "When While If After Before However What Who Why How Where Is Are Was Were Do Does Did No Yes Not For From With As By To "
    "Der Die Das Ein Eine Er Sie Es Wir Ihr Ich Du Und Aber Oder Doch Dann Da Dort Dies Diese Dieser Dieses "
    "Im Am Auf Bei Mit Nach Seit Vor Für Von Zu Wenn Als Wie Was Wer Wo Man Auch Nun Heute "
    "Le La Les Un Une Il Elle Ils Elles Nous Vous Je Tu Ce Cette Ces Et Mais Dans En Au Aux Pour Par Sur Avec Puis "
    "El Los Las Una Él Ella Ellos Ellas Yo Nosotros Usted Y Pero O Con Por Para Este Esta Se Su Sus Cuando Si Sí "
    "Он Она Они Мы Вы Я Это В Но И А На Если Когда"
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, one at least. White space goes with the sentence before it, or with the first.

    A newline ends a sentence after a mark that could end one, whatever follows, and wherever it stands doubled.
    """
    return _split_at(text, _find_sentence_ends(text)) if _MAYBE_MORE.search(text) else [text]


def share_of_sentences(texts: Sequence[str]) -> float:
    """How many of the texts, from 0 to 1, hold no more than one sentence: what a model has learned to take at once."""
    return sum(len(split_sentences(text)) == 1 for text in texts) / len(texts) if texts else 1.0


def _split_at(text: str, places: Sequence[int]) -> list[str]:
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def _find_sentence_ends(text: str) -> list[int]:
    """Where the second sentence begins, and the third, and so on."""
    ends: list[int] = []
    begin = looked_at = len(text) - len(text.lstrip())
    has_word = False  # "..." alone is no sentence
    for found in _MAYBE_END.finditer(text):
        start, end = found.span()
        if end == len(text):
            break
        has_word = has_word or _WORD_CHARACTER.search(text, looked_at, start) is not None
        looked_at = end
        marks, space = found["marks"], found["space"]
        if marks is None:
            ends_here = start > begin
        else:
            ends_here = has_word and (space.count("\n") > 1 or _is_end(text, begin, start, marks, space, end))
        if ends_here:
            ends.append(end)
            begin, has_word = end, False
    return ends


def _is_end(text: str, begin: int, start: int, marks: str, space: str, end: int) -> bool:
    """Whether the marks at `start`, and the white space up to `end`, end the sentence that began at `begin`."""
    stops = marks if len(marks) == 1 else marks.translate(_WITHOUT_CLOSING)
    first = _OPENING_RUN.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing at least
    following = text[first : first + 1]
    if not space and not _needs_no_space(text, start, stops, closed=marks[-1] in _CLOSING, following=following):
        return False
    if "\n" not in space and not _can_begin(following, any_case=stops[-1] in _FULL_STOPS):
        return False
    if marks[-1] in ")]）］" and text[begin : _find_opening(text, begin, start)].strip():
        return False  # "(sic!)" in the middle of a sentence
    return stops != "." or not _is_short_form(text, begin, start, text[end:first], text[first : first + 40])


def _needs_no_space(text: str, start: int, stops: str, *, closed: bool, following: str) -> bool:
    if stops[-1] in "।॥．" and following.isdigit():
        return False  # ３．１４, and the number of a verse
    if stops[-1] in _FULL_STOPS:
        return not (closed and _HIRAGANA.match(following))  # 「行くよ。」と言った
    return stops[-1] in "!?" and all(map(is_unspaced, (text[start - 1 : start], following)))


def _can_begin(character: str, *, any_case: bool) -> bool:
    if character.isalpha():
        return any_case or not character.islower() or "ა" <= character <= "ჿ"  # Georgian has capitals for headlines only
    return character != "" and (character.isnumeric() or character in "@#§" or unicodedata.category(character) == "Sc")


def _find_opening(text: str, begin: int, start: int) -> int:
    return max(begin, *(text.rfind(bracket, begin, start) for bracket in "([（［"))


def _is_short_form(text: str, begin: int, start: int, opening: str, following: str) -> bool:
    """Whether the full stop at `start` belongs to an abbreviation, an initial, or an ordinal number as in German."""
    before = text[max(begin, start - 40) : start]
    found = _BEFORE_TOKEN.match(before)
    token = before[found.end() :] if found else before
    if not token:
        return False
    words_before = before[: -len(token)].split()
    if start - begin < 40 and not "".join(words_before).strip(_OPENING) and _ENUMERATION.fullmatch(token):
        return True  # "1. Open the file."
    if _ORDINAL.fullmatch(token) and _is_ordinal(words_before, following):
        return True
    small = token[0].lower() + token[1:]
    if token in _TITLES or small in _TITLES or before.endswith(("z. B", "Z. B")):
        return True
    if following[:1].isdigit() and (token in _BEFORE_NUMBERS or small in _BEFORE_NUMBERS):
        return True
    initial = len(token) == 1 and (token.lower() != token.upper() or "א" <= token <= "ۿ")
    if token == "I" and words_before and words_before[-1].islower() and following[1:2] != ".":
        return False  # "So did I. Wait!"
    if initial or token in _SHORT_FORMS or small in _SHORT_FORMS or _DOTTED.fullmatch(token):
        word = _NEXT_WORD.match(following)
        return not ("¿" in opening or "¡" in opening or (word and word[1] in _BEGINNERS))
    return False


def _is_ordinal(before: Sequence[str], following: str) -> bool:
    word = _LETTERS.match(following)
    if word and word[0] in _MONTHS:
        return True
    return bool(before) and before[-1].lower().strip(_OPENING) in _BEFORE_ORDINALS and before[-2:] != ["I", "am"]


def is_unspaced(character: str) -> bool:
    return _ALONE_UNSPACED.match(character) is not None


def segment(texts: Sequence[str], *, sentences: bool, longest: int, count: Count) -> list[list[str]]:
    """The parts in which each text is translated: its sentences, or the whole, and no part of more than `longest` pieces.

    What is too long is cut into like parts: at the ends of sentences and clauses that are near to an even share; where there
    are none, at white space; where there is none either, between characters, and there too a base stays with its combining
    marks if that can be. Only one character alone may be too long. Most texts have one part that needs no counting.
    """
    segments = [split_sentences(text) for text in texts] if sentences else [[text] for text in texts]
    unsure = [(at, part) for at, parts in enumerate(segments) for part in parts if not _surely_fits(part, longest)]
    if unsure:
        cuts = _cut([part for _, part in unsure], longest, count)
        for at in {at for at, _ in unsure}:
            segments[at] = [piece for part in segments[at] for piece in cuts.get(part, [part])]
    return segments


_FILLED = 0.8  # of a part, on average: room to move a cut by a quarter of a part
_CLAUSE_END = re.compile(rf"[{re.escape(_CLAUSE_MARKS)}][{_CLOSE}]*\s+|[{_FULL_CLAUSE_MARKS}][{_CLOSE}]*\s*")
_SPACE_RUN = re.compile(r"\s+")


def _surely_fits(text: str, longest: int) -> bool:
    """Told by its bytes: a third more of them, since the tokenizer may write a character of three bytes in four."""
    if text.isascii():
        return len(text) < longest
    size = len(normalize(text).encode())
    return size + size // 3 < longest


def _cut(texts: Iterable[str], longest: int, count: Count) -> dict[str, list[str]]:
    """Each text in parts that fit. All that is in doubt is counted at once, and what does not fit is cut and counted again."""
    if longest < 1:
        raise ValueError(f"longest is {longest}; it must be 1 or more")
    places: dict[str, _Places] = {}
    cuts: dict[str, list[int]] = {text: [] for text in texts}
    parts = [(text, 0, len(text)) for text in cuts]
    while parts:
        doubtful = [(text, a, b) for text, a, b in parts if b - a > 1 and not _surely_fits(text[a:b], longest)]
        counts = count([text[a:b] for text, a, b in doubtful]) if doubtful else []
        parts = []
        for (text, start, end), pieces in zip(doubtful, counts, strict=True):
            if pieces > longest:
                if text not in places:
                    places[text] = _Places(text)
                new = places[text].choose(start, end, math.ceil(pieces / (_FILLED * longest)))
                cuts[text] += new
                parts += [(text, a, b) for a, b in zip([start, *new], [*new, end], strict=True)]
    return {text: _split_at(text, sorted(at)) for text, at in cuts.items()}


class _Places:
    """Where a text may be cut, best kind first."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = _find_sentence_ends(text)
        self._clauses = [found.end() for found in _CLAUSE_END.finditer(text)]
        self._spaces = [found.end() for found in _SPACE_RUN.finditer(text)]

    def choose(self, start: int, end: int, parts: int) -> list[int]:
        """Places that cut `start` to `end` into about so many parts, of about equal length; one at least."""
        chosen: list[int] = []
        for left in range(max(2, min(parts, end - start)), 1, -1):
            if end - start < 2:
                break
            width = (end - start) / left
            start = self._choose_one(start, end, width)
            chosen.append(start)
        return chosen

    def _choose_one(self, start: int, end: int, width: float) -> int:
        target = start + width
        for places, reach in ((self._ends, width / 4), (self._clauses, width / 4), (self._spaces, width)):
            at = _find_nearest(places, target, max(start, target - reach), min(end, target + reach))
            if at is not None:
                return at
        return self._between_characters(start, min(end, math.ceil(target + width)), min(max(round(target), start + 1), end - 1))

    def _between_characters(self, start: int, end: int, target: int) -> int:
        for distance in range(max(target - start, end - target)):
            for at in (target - distance, target + distance):
                if start < at < end and not _goes_on(self._text[at - 1], self._text[at]):
                    return at
        return target


def _find_nearest(places: Sequence[int], target: float, low: float, high: float) -> int | None:
    """The place nearest to the target, between the bounds but on neither."""
    at = bisect_left(places, target)
    near = [place for place in places[max(0, at - 1) : at + 1] if low < place < high]
    return min(near, key=lambda place: abs(place - target), default=None)


def _goes_on(before: str, character: str) -> bool:
    """Whether a character belongs to the one before: a combining mark, a joined emoji, a Korean vowel, LF after CR."""
    return (
        unicodedata.category(character).startswith("M")
        or "\u200d" in (before, character)
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\u1160" <= character <= "\u11ff"
        or (before, character) == ("\r", "\n")
    )


def join(sources: Sequence[str], translations: Sequence[str]) -> str:
    """Translations of a text's parts as one text, each in the white space that stood around its source; blank parts stay.

    Where a source needed no space after it, as in Chinese, its translation gets one if it is of a script that does. A word
    that was cut in two stays one word.
    """
    joined: list[str] = []
    owing = False  # a space, if something of a spaced script follows
    for source, translation in zip(sources, translations, strict=True):
        text, core = translation.strip(), source.strip()
        if not core:
            joined.append(source)
            owing = False
            continue
        before, after = source[: source.index(core)], source[source.index(core) + len(core) :]
        if owing and text and not before and not is_unspaced(text[0]):
            joined.append(" ")
        joined += [before, text, after]
        if text or after:
            owing = not after and _ends_unspaced(core) and not _ends_unspaced(text)
    return "".join(joined)


def _ends_unspaced(text: str) -> bool:
    """Whether the script of a text's end sets no space after it: told by the last character, or by the one before its marks."""
    return any(is_unspaced(end[-1]) for end in (text, text.rstrip(_STOPS + _CLOSING + _CLAUSE_MARKS)) if end)
