import pytest

from elmokit.tasks.all_tasks import task_recipe


@pytest.mark.parametrize(
    ("task", "setting", "reason"),
    [
        ("ner", "dropout_rate=1.5", "dropout_rate is 1.5; expected at least 0 and below 1"),
        ("ner", "first_dim=0", "first_dim is 0; expected at least 1"),
        ("srl", "max_train_tokens=-1", "max_train_tokens is -1; it must not be negative"),
        ("coref", "max_antecedents=-1", "max_antecedents is -1; expected at least 1"),
        ("coref", "spans_per_word=0", "spans_per_word is 0.0; it must be positive"),
        ("nli", "projection_dim=-1", "projection_dim is -1; expected at least 1"),
        ("qa", "max_answer_tokens=0", "max_answer_tokens is 0; expected at least 1"),
        ("sst", "classifier=gru", "classifier is 'gru'; expected one of bcn, bilstm, cnn"),
        ("sst", "maxout_dims=[8,0]", r"maxout_dims is \(8, 0\); expected at least 1"),
        ("sst", "maxout_dims=[8,8,8]", "has 3 entries; expected 2"),
        ("sst", "output_dropout_rates=[0.2,1]", r"output_dropout_rates is \(0.2, 1.0\); expected at least 0"),
        ("ner", "clip_norm=Infinity", "setting clip_norm=Infinity: expected a finite float"),
        ("ner", "clip_norm=1e999", "setting clip_norm=1e999: expected a finite float"),
        ("ner", "seed=1125899906842624", "seed is 1125899906842624; expected at most"),
    ],
)
def test_settings_without_a_meaning_are_refused_by_name(task: str, setting: str, reason: str):
    with pytest.raises(ValueError, match=reason):
        task_recipe(task, "cpu", [setting])
