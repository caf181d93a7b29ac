"""A grammar of English and German at once: words, the trees that sentences are made of, and how each language says them."""
