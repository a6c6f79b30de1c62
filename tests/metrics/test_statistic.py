from elmokit.metrics.statistic import Statistic


def test_mean_and_deviation_are_those_of_a_sample():
    statistic = Statistic((80.0, 82.0, 84.0))
    assert (statistic.mean, statistic.deviation) == (82.0, 2.0)
    assert str(statistic) == "82.00 ± 2.00"


def test_one_value_has_no_deviation():
    assert Statistic((80.0,)).deviation is None
    assert str(Statistic((80.0,))) == "80.00"
