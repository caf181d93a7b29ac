"""The paper's claims as experiments that a user can repeat: a module for each, with its promise, table and picture."""
