"""Translation of text of any length: in blocks, in order, with flat memory, and again from where it stopped.

A job cuts each input file into blocks of `blocks.BLOCK` lines, counted from the file's first line, and each block is one call
of `translator.translate`. No batch crosses a block's end, so whatever runs the blocks (one process, the shards of a batch
scheduler, a Ray cluster, a second start after an interruption) gives the same bytes.
"""
