"""Categories: the trees' own orders, no leak into unseen rows, known effects."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from projection_oracle import oob_prediction
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from shaff import ShapleyEffects
from shaff.datasets import discrete_experiment, experiment_3, shapley_values
from shaff.screening import screen
from shaff.subsets import Subsets
from shaff.trees.bags import draw_bags
from shaff.trees.growing import grow_forest
from shaff.values.categories import MeanTargets
from shaff.values.projected_boosting import ProjectedBoosting
from shaff.values.projected_forest import ProjectedForest
