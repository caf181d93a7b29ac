"""How fast a run is."""

import time


class Meter:
    """Speed since the last report."""

    def __init__(self) -> None:
        self.since = time.monotonic()
        self._tokens, self._flops = 0, 0.0

    def count(self, tokens: int, flops: float) -> None:
        self._tokens, self._flops = self._tokens + tokens, self._flops + flops

    def read(self) -> tuple[float, float]:
        """Target tokens and floating-point operations a second."""
        seconds = time.monotonic() - self.since
        return self._tokens / seconds, self._flops / seconds
