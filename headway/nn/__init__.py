"""The paper's blocks: tensors in, tensors out, no I/O."""
