"""Sizes at which pages are looked at."""

DESK, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}
