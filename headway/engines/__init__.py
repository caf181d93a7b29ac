"""What computes translations: pieces in, pieces out."""
