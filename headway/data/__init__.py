"""From the files that people have to batches of numbers, without torch."""
