"""Other people's models as bundles."""
