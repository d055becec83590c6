"""OKLClassifier and OKLRegressor as learners of CapyMOA, beside an adaptive random forest of MOA's.

    python examples/capymoa_learner.py

Needs ``pip install capymoa`` and a Java runtime.
"""

import copy
import functools

import numpy as np
from capymoa.base import Classifier, Regressor  # starts Java
from capymoa.classifier import AdaptiveRandomForestClassifier
from capymoa.evaluation import prequential_evaluation
from capymoa.stream import NumpyStream
from river import datasets

import river_okl


@functools.cache
def attributes(schema):
    """The name of each attribute, and its values if it is nominal."""
    header, nominal = schema.get_moa_header(), schema.get_nominal_attributes()
    names = [str(header.attribute(i).name()) for i in range(header.numAttributes()) if i != header.classIndex()]
    return [(name, nominal.get(name)) for name in names]


def as_dict(instance):
    """The features of an instance by name: numbers, strings for nominal attributes, NaN for missing values."""
    pairs = zip(attributes(instance.schema), instance.x.tolist(), strict=True)
    return {name: values[int(v)] if values and v == v else v for (name, values), v in pairs}


class RiverClassifier(Classifier):
    def __init__(self, schema, model=None, random_seed=1):
        super().__init__(schema, random_seed)
        self.model = copy.deepcopy(river_okl.OKLClassifier() if model is None else model)

    def train(self, instance):
        self.model.learn_one(as_dict(instance), instance.y_index)

    def predict(self, instance):
        return self.model.predict_one(as_dict(instance))

    def predict_proba(self, instance):
        p = self.model.predict_proba_one(as_dict(instance))
        return np.array([p.get(y, 0.0) for y in self.schema.get_label_indexes()]) if p else None


class RiverRegressor(Regressor):
    def __init__(self, schema, model=None, random_seed=1):
        super().__init__(schema, random_seed)
        self.model = copy.deepcopy(river_okl.OKLRegressor() if model is None else model)

    def train(self, instance):
        self.model.learn_one(as_dict(instance), instance.y_value)

    def predict(self, instance):
        return self.model.predict_one(as_dict(instance))


if __name__ == "__main__":
    samples = list(datasets.Bananas().take(2000))
    x, y = np.array([[*x.values()] for x, _ in samples]), np.array([int(y) for _, y in samples])
    stream = NumpyStream(x, y, dataset_name="Bananas", feature_names=list(samples[0][0]))
    schema = stream.get_schema()
    for learner in RiverClassifier(schema), AdaptiveRandomForestClassifier(schema):
        found = prequential_evaluation(stream, learner)
        print(f"{learner}: accuracy {found['cumulative'].accuracy():.2f} %")
