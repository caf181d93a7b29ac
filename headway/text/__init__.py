"""Text and pieces of text: the only place that knows SentencePiece."""
