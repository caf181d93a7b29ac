"""The edits that TER counts (Snover et al., 2006), as sacreBLEU counts them, many times as fast.

TER counts insertions, deletions and substitutions of words, and shifts of word runs. Which shifts help is found by trying: each
try is an edit distance, and sacreBLEU fills a table cell by cell for it. Here a row of that table is two whole numbers, a
bit for each word of the reference (Myers, 1999; Hyyrö, 2003). What is tried, in which order, and what wins is the same.

sacreBLEU fills only a band around the table's diagonal. An edit distance is the same without it as long as its path stays in
the band; where it does not, in long sentences that are almost all wrong, sacreBLEU itself is asked.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

BAND = 25  # words to each side of the diagonal that sacreBLEU looks at
LONGEST_SHIFT, FARTHEST_SHIFT = 10, 50  # words, as in Tercom
MOST_TRIES = 1000  # of one sentence; then what was found last is dropped, as sacreBLEU does

Row = tuple[int, int, int]  # where the distance grows by one from word to word of the reference, where it falls, the last one
Shift = tuple[int, int, int]  # first word of a run, its length, the word before which it is put


class OutOfBandError(Exception):
    """The band may matter for this sentence."""


def count_edits(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """Insertions, deletions, substitutions and shifts that make the reference of the hypothesis."""
    if not reference or not hypothesis:
        return max(len(reference), len(hypothesis))
    try:
        return _count_with_shifts(list(hypothesis), reference)
    except OutOfBandError:
        from sacrebleu.metrics.lib_ter import translation_edit_rate

        return int(translation_edit_rate(list(hypothesis), list(reference))[0])


def _count_with_shifts(words: list[str], reference: Sequence[str]) -> int:
    table = _Table(reference, len(words))
    common = sum((Counter(words) & Counter(reference)).values())
    fewest = max(len(words), len(reference)) - common  # no order of the same words has less
    shifts = tries = 0
    while True:
        rows = table.fill(words)
        distance, alignment = rows[-1][2], _align(words, table, rows)
        if distance == fewest:
            return shifts + distance
        found, more = _find_shifts(words, table, alignment, MOST_TRIES - tries)
        tries += more
        best = _choose(found, words, table, rows, distance - fewest) if tries < MOST_TRIES else None
        if best is None:
            return shifts + distance
        words = _move(words, *best)
        shifts += 1


class _Table:
    """Edit distances between a reference and any hypothesis of one length."""

    def __init__(self, reference: Sequence[str], length: int) -> None:
        self.reference = reference
        self.places: dict[str, list[int]] = {}
        for place, word in enumerate(reference):
            self.places.setdefault(word, []).append(place)
        self._masks = {word: sum(1 << place for place in places) for word, places in self.places.items()}
        self._all = (1 << len(reference)) - 1
        self._top = 1 << (len(reference) - 1)
        self._length = length
        # A path of cost D strays from the band's middle by at most half of D and of the difference of lengths.
        fits = len(reference) < BAND
        self._surely_inside = len(reference) + length if fits else 2 * (BAND - 1) - abs(len(reference) - length)

    def fill(self, words: Sequence[str]) -> list[Row]:
        """The row before the first word, and one after each word."""
        first = (self._all, 0, len(self.reference))
        return [first, *self._follow(words, first)]

    def measure(self, words: Sequence[str], first: Row) -> int:
        """The distance alone of a hypothesis that goes on with these words after a row. Most of the time goes into this.

        Whether its path leaves the band is not looked at here: that only makes it larger.
        """
        row = first
        for row in self._follow(words, first):  # noqa: B007 (the last one is what counts)
            pass
        return row[2]

    def _follow(self, words: Sequence[str], first: Row) -> Iterator[Row]:
        """The row after each word."""
        grows, falls, distance = first
        masks, everything, top = self._masks, self._all, self._top
        for word in words:
            equal = masks.get(word, 0)
            steps = (((equal & grows) + grows) ^ grows) | equal | falls
            up = falls | (everything & ~(steps | grows))
            down = grows & steps
            if up & top:
                distance += 1
            elif down & top:
                distance -= 1
            up = (up << 1) | 1
            down <<= 1
            grows = (down | ~(steps | up)) & everything
            falls = up & steps & everything
            yield grows, falls, distance

    def may_leave_band(self, distance: int) -> bool:
        return distance > self._surely_inside

    def check_inside(self, i: int, j: int) -> None:
        """A cell of a path that may leave the band: row i, word j of the reference."""
        middle = math.floor(i * (len(self.reference) / self._length))
        if not (middle - BAND <= j and (j < middle + BAND or i in (0, self._length))):
            raise OutOfBandError


@dataclass(frozen=True)
class _Alignment:
    """How a hypothesis becomes the reference: for each word of the reference the last word used of the hypothesis."""

    places: list[int]
    reference_errors: list[int]  # how many words of the reference are wrong before each place, and in all
    hypothesis_errors: list[int]


def _align(words: Sequence[str], table: _Table, rows: Sequence[Row]) -> _Alignment:
    """Back along the best path. Of equals, substitution is preferred, then what leaves out a word of the hypothesis.

    Where this path is inside sacreBLEU's band, distance and path are the same with the band as without.
    """
    reference, may_leave = table.reference, table.may_leave_band(rows[-1][2])
    places = [0] * len(reference)
    wrong_words, wrong_reference = [0] * len(words), [0] * len(reference)
    i, j = len(words), len(reference)
    while j:
        if may_leave:
            table.check_inside(i, j)
        if i == 0:
            is_kept = is_put = False
        elif words[i - 1] == reference[j - 1]:
            is_kept, is_put = True, False
        else:
            across = _step(rows[i - 1], j)  # from one word of the reference to the next, in the row before
            down = rows[i][2] - rows[i - 1][2] if j == len(reference) else _down(rows, i, j)
            is_kept, is_put = across + down == 1, down == 1
        if is_kept:
            i, j = i - 1, j - 1
            places[j] = i
            wrong_words[i] = wrong_reference[j] = int(words[i] != reference[j])
        elif is_put:
            i -= 1
            wrong_words[i] = 1
        else:
            j -= 1
            places[j] = i - 1
            wrong_reference[j] = 1
    if may_leave:
        table.check_inside(i, 0)
    wrong_words[:i] = [1] * i
    return _Alignment(places, _add_up(wrong_reference), _add_up(wrong_words))


def _step(row: Row, j: int) -> int:
    return (row[0] >> (j - 1) & 1) - (row[1] >> (j - 1) & 1)


def _down(rows: Sequence[Row], i: int, j: int) -> int:
    """How the distance changes from row i - 1 to row i, at word j of the reference."""
    below, above = (1 << j) - 1, rows[i - 1]
    return (
        1 + (rows[i][0] & below).bit_count() - (rows[i][1] & below).bit_count() - (above[0] & below).bit_count()
        + (above[1] & below).bit_count()
    )  # fmt: skip


def _add_up(flags: Sequence[int]) -> list[int]:
    sums = [0]
    for flag in flags:
        sums.append(sums[-1] + flag)
    return sums


def _find_shifts(words: Sequence[str], table: _Table, alignment: _Alignment, most: int) -> tuple[set[Shift], int]:
    """All shifts of a run of words to where the reference has it, and how many sacreBLEU would try: some of them repeatedly."""
    shifts: set[Shift] = set()
    tries = 0
    for start, place, length in _find_runs(words, table, alignment):
        before = -1
        for at in range(place - 1, place + length):  # after the word for the one before its place, or for one of its own
            target = 0 if at < 0 else alignment.places[at] + 1
            if target != before:
                shifts.add((start, length, target))
                tries += 1
            before = target
        if tries >= most:
            break
    return shifts, tries


def _find_runs(words: Sequence[str], table: _Table, alignment: _Alignment) -> Iterator[tuple[int, int, int]]:
    """Runs that hypothesis and reference share, but neither has in its place: (place in each, length)."""
    reference, places = table.reference, alignment.places
    wrong_words, wrong_reference = alignment.hypothesis_errors, alignment.reference_errors
    for start, word in enumerate(words):
        for place in table.places.get(word, ()):
            if abs(place - start) > FARTHEST_SHIFT:
                continue
            longest = min(LONGEST_SHIFT, len(words) - start, len(reference) - place)
            length = 0
            while length < longest and words[start + length] == reference[place + length]:
                length += 1
                is_wrong = (
                    wrong_words[start + length] > wrong_words[start]
                    and wrong_reference[place + length] > wrong_reference[place]
                )
                if is_wrong and not start <= places[place] < start + length:
                    yield start, place, length


def _choose(shifts: set[Shift], words: list[str], table: _Table, rows: Sequence[Row], most: int) -> Shift | None:
    """The shift that saves most; of equals the longest, then the earliest, then the one to the earliest place.

    They are measured in that order, and no more once none can save more: a word that moves saves two edits at most.
    """
    best, saved = None, 0
    for start, length, target in sorted(shifts, key=lambda shift: (-shift[1], shift[0], shift[2])):
        if min(2 * length, most) <= saved:
            break
        same = min(start, target)
        moved = _move(words, start, length, target)
        distance = table.measure(moved[same:], rows[same])
        saving = rows[-1][2] - distance
        if saving > saved:
            if table.may_leave_band(distance):
                _align(moved, table, table.fill(moved))
            best, saved = (start, length, target), saving
    return best


def _move(words: list[str], start: int, length: int, target: int) -> list[str]:
    """The run taken out and put before the word at `target`; where that is inside the run, as many words further on."""
    run, rest = words[start : start + length], words[:start] + words[start + length :]
    at = target - length if target > start + length else target
    return rest[:at] + run + rest[at:]
