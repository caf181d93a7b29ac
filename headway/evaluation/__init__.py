"""How good translations are: strings in, numbers out, without torch."""
