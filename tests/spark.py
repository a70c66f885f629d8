"""Work on a local Spark: `make spark-test`, which fetches half a gigabyte, and needs Java."""

import joblib
import pytest

from shaff import ShapleyEffects
from shaff.datasets import load_diabetes


@pytest.mark.filterwarnings("default")
def test_fits_are_the_same_bits():
    # Collected with the other files, which do without these.
    from joblibspark import register_spark
    from pyspark.sql import SparkSession

    X, y, _ = load_diabetes()
    est = ShapleyEffects("forest", random_state=0, n_subsets=40)
    here = est.fit(X, y).effects_.tobytes()
    local = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = local.getOrCreate()
    try:
        register_spark()
        with joblib.parallel_config(backend="spark", n_jobs=2):
            assert est.fit(X, y).effects_.tobytes() == here
    finally:
        spark.stop()
