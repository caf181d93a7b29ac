"""The page of `headway inspect --full`, and its pictures: all that goes on in a model, part by part."""
