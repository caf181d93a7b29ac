"""The page of `headway inspect`, and its pictures: where heads look, what tells positions apart."""
