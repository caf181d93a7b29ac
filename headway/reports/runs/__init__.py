"""A run read back from its files, as a page; and several runs beside each other."""
