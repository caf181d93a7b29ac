"""The glass box: one sentence followed through a model, number by number."""
