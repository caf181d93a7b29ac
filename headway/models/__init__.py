"""Assemblies of the blocks in headway.nn."""
