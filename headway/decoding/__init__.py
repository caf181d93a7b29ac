"""Search for the best output, over a step function that knows the model."""
