"""A bundle in the formats of other programs."""
