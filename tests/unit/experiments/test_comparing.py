"""Models beside the first of them, in a table and in words."""

from headway.evaluation.evaluate import evaluate
from headway.experiments.comparing import gather, tabulate, tell_winners
from headway.experiments.experiment import format_markdown
from headway.experiments.rnn import Side, _tell_lead
from headway.experiments.variants import Record, Trained, Variant

REFERENCES = [f"the number {n} is written on line {n} of this text" for n in range(60)]


def trained(name: str, translations: list[str], *, seeds: int = 1, **paper: float) -> Trained:
    record = Record(1, 1000, 50, 3.0, 4.5, REFERENCES, REFERENCES, translations)
    return Trained(Variant(name, paper=paper), [record] * seeds)


def test_differences_are_from_the_first_and_beside_the_papers():
    worse = [text.replace("number", "word") if n % 2 else text for n, text in enumerate(REFERENCES)]
    models = [trained("base", REFERENCES, bleu=25.8, perplexity=4.9), trained("other", worse, bleu=24.9, perplexity=5.3)]
    figures = gather(models, evaluate([one.as_system() for one in models], [REFERENCES]))
    assert figures[0]["bleu"] == 100 and figures[0]["difference"] is None
    assert figures[1]["difference"] < -5 and figures[1]["p"] < 0.05 and figures[1]["paper_difference"] == -0.9
    columns, rows = tabulate(figures)
    assert columns[-1] == "difference" and rows[1][-1] == "-0.9"
    told, of_seeds = tell_winners(figures)
    assert "worse: other" in told and "paired bootstrap): none. Clearly worse" in told and "one seed" in of_seeds
    assert format_markdown(columns, rows)[2].startswith("| base | 0.0 M | 50 |")


def test_of_many_comparisons_a_p_value_must_be_smaller():
    base = {"model": "base", "p": None, "difference": None, "bleu_of_seeds": [1, 2], "bleu": 30.0, "updates": 9}
    others = [base | {"model": f"m{at}", "p": p, "difference": 1.0} for at, p in enumerate((0.04, 0.001, 0.02))]
    (told,) = tell_winners([base, *others])
    assert "3 comparisons): m0 (+1.0), m1 (+1.0), m2 (+1.0)." in told  # 0.001 * 3, 0.02 * 2, 0.04 * 1
    (told,) = tell_winners([base, *others, others[0] | {"model": "m3", "p": 0.03}])
    assert "4 comparisons): m1 (+1.0)." in told and "No clear difference: m0" in told  # 0.02 * 3 is not below 0.05


def test_models_that_have_learned_nothing_or_less_are_told_so():
    base = {"model": "base", "p": None, "difference": None, "bleu_of_seeds": [0.1], "bleu": 0.1, "updates": 3}
    told = tell_winners([base, base | {"model": "other", "p": 0.001, "difference": 0.05, "updates": 55}])
    assert "from 3 to 55 updates" in told[0] and "mean nothing" in told[1] and len(told) == 2


def test_of_several_seeds_the_spread_stands_beside_the_interval():
    models = [trained("base", REFERENCES, seeds=2)]
    figures = gather(models, evaluate([one.as_system() for one in models], [REFERENCES]))
    assert "± 0.0 [" in tabulate(figures)[1][0][4]


def test_from_when_on_the_transformer_is_ahead():
    def side(name: str, *curve: tuple[float, float]) -> Side:
        return Side(trained(name, REFERENCES), list(curve), 1.0, {})

    ours = side("Transformer", (1, 2), (2, 20), (3, 30))
    assert "at every point" in _tell_lead(ours, side("recurrent", (1, 1), (2, 10), (3, 20)))
    assert "from minute 2.0 on" in _tell_lead(ours, side("recurrent", (1, 5), (2, 10), (3, 20)))
    assert "recurrent model is ahead" in _tell_lead(ours, side("recurrent", (1, 5), (2, 10), (3, 31)))
