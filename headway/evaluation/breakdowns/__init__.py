"""Where translations are good and where not: ways to divide a test set."""
