from pathlib import Path

import pytest
import yaml

from headway.config import Settings, build_settings, merge, options, parse_corpus, read_yaml
from headway.errors import RequestError


def test_all_mistakes_are_named_at_once_with_what_was_probably_meant():
    with pytest.raises(RequestError) as error:
        build_settings(
            {
                "model": {"droput": 0.1, "d_model": "wide"},
                "data": {"from": ["en"]},
                "training": {"dropout": 0.2, "schedule": "noam"},
                "decoding": {"patience": "much"},
                "beam": 4,
            }
        )
    for part in (
        "Setting decoding.patience (--decoding-patience) must be a number",
        "Setting data.from (--from) must be a word or a text",
        "Unknown setting model.droput. Did you mean model.dropout?",
        "Setting model.d_model (--d-model) must be a whole number",
        "and is 'wide'",
        "Unknown setting training.dropout. Did you mean model.dropout?",
        "training.schedule",
        "'paper', 'inverse-sqrt', 'cosine' or 'linear'",
        "Unknown setting beam. Did you mean decoding.beam?",
    ):
        assert part in str(error.value)


def test_yaml_out_is_yaml_in(tmp_path: Path):
    settings = build_settings({"data": {"train": ["a:0.5"], "from": "en", "to": "de"}, "training": {"max_minutes": 1.5}})
    path = tmp_path / "config.yaml"
    path.write_text(settings.to_yaml())
    assert build_settings(read_yaml(path)) == settings


def test_yaml_as_people_write_it():
    data = build_settings(yaml.safe_load("data: {train: data/m, from: en, to: no}")).data
    assert (data.train, data.source_language, data.target_language) == (["data/m"], "en", "no")


def test_options_win_over_the_file():
    merged = merge({"model": {"dropout": 0.1, "d_ff": 64}}, {("model", "dropout"): "0.2", ("training", "seed"): "7"})
    settings = build_settings(merged)
    assert (settings.model.dropout, settings.model.d_ff, settings.training.seed) == (0.2, 64, 7)


def test_every_setting_is_an_option_and_the_promised_names_are_there():
    names = options()
    assert len(names) == sum(len(section.annotation.model_fields) for section in Settings.model_fields.values())
    promised = (
        "preset vocab-size batch-tokens dropout label-smoothing learning-rate warmup schedule max-steps max-epochs max-minutes"
    )
    promised += " valid-every checkpoint-every patience seed beam length-penalty train valid test from to"
    assert set(promised.split()) <= names.keys()
    assert names["batch-tokens"][0] == "training"
    assert all(field.description for _, _, field in names.values())


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("- a list", "holds no sections"),
        ("model:\n  dropout: [", "cannot be understood in line 2"),
        ("model:\n\tdropout: 1", "cannot be understood in line 2"),
        ("a: !!python/object:os.system {}", "cannot be understood in line 1"),
        ("a: 2020-13-45", "cannot be understood: "),
        ("a: \xff", "cannot be understood: "),
        ("a: \0", "cannot be understood: "),
    ],
)
def test_a_file_that_holds_no_settings(tmp_path: Path, content: str, why: str):
    path = tmp_path / "broken.yaml"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(RequestError, match=rf"broken\.yaml {why}"):
        read_yaml(path)


def test_no_words_but_ours_and_no_guess_that_is_far_off():
    wrong = {"model": {"tie": 3, "foo": 1}, "data": 3, "training": {"max_steps": 0, "recompute": "often", "seed": 0.5}}
    wrong["training"]["processess"] = 2
    wrong["model"]["preset"] = "mni"
    with pytest.raises(RequestError) as error:
        build_settings(wrong)
    told = str(error.value)
    assert "Setting data must be a section, with a setting a line, and is 3." in told
    assert "(--max-steps) must be at least 1, and is 0." in told and "true or false, and is 'often'" in told
    assert "Setting training.processes" not in told and "Did you mean training.processes?" in told
    assert "and is 'mni'. Did you mean mini?" in told and "Unknown setting model.foo.\n" in told
    assert "input" not in told and "valid" not in told


def test_a_section_without_settings_is_none_given(tmp_path: Path):
    path = tmp_path / "settings.yaml"
    path.write_text("model:\ntraining:\n  seed: 3\n")
    assert build_settings(read_yaml(path)) == build_settings({"training": {"seed": 3}})


def test_a_missing_file(tmp_path: Path):
    with pytest.raises(RequestError, match="There is no settings file"):
        read_yaml(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    "content",
    [{"training": 5}, {"model": ["tiny"]}, {"training": {"max_minutes": "inf"}}, {"training": {"seed": 2**64}}],
)
def test_values_that_no_setting_can_have(content):
    with pytest.raises(RequestError, match=r"^Setting (model|training)"):
        build_settings(merge(content, {("training", "clip"): "1", ("model", "d_ff"): "8"}))


def test_weights_of_corpora():
    assert parse_corpus("crawl.tsv:0.3") == ("crawl.tsv", 0.3)
    assert parse_corpus("data/train") == ("data/train", 1.0)
    assert parse_corpus("C:/data/train") == ("C:/data/train", 1.0)
    with pytest.raises(RequestError, match="weight of the corpus a is 0"):
        parse_corpus("a:0")
    with pytest.raises(RequestError, match="at most 1,000"):
        parse_corpus("a:1e9")
