"""How good translations are, as a page."""
