"""A frozen classifier as a graph of ONNX.

Maps, linear models and nearest neighbours are written in double precision. Other estimators are converted by skl2onnx,
in single precision, and compared with themselves: it has converters that answer otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from driftway.adaptation.source.automatic import AutomaticClassifier
from driftway.adaptation.source.calibration import LEAST

# The set of operators that the graph is written in: what onnxruntime 1.18 (2024) and later can run.
OPSET = 18
# How far probabilities of a converted estimator may be from its own, at so many points of the spread of the source.
TOLERANCE, POINTS = 1e-5, 50
# A point at less than this distance is the same one, and has all the weight.
SAME = 1e-100


def graph_of(parts: Sequence[Any], usual: npt.NDArray[np.float64], classes: npt.NDArray[Any]) -> Any:
    """The graph of the parts of a frozen classifier."""
    try:
        import onnx
        import onnxruntime  # noqa: F401 - to compare with
        import skl2onnx  # noqa: F401 - the estimators will need it
    except ImportError as error:
        raise ImportError("to_onnx needs skl2onnx and onnxruntime: pip install 'driftway[onnx]'") from error
    graph = _Graph(onnx)
    X = graph.add("Where", graph.add("IsNaN", "X"), usual, "X")
    told = [graph.add("Mul", _of_part(graph, part, X), np.array([part.weight])) for part in parts]
    graph.add("Sum", *told, name="probabilities")
    graph.add("ArgMax", "probabilities", name="index", axis=1, keepdims=0)
    return graph.model(len(usual), classes)


class _Graph:
    """Nodes and constants of a graph as they are added; a value is known by its name."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._domains = {"": OPSET}

    def add(self, kind: str, *inputs: str | npt.NDArray[Any], name: str | None = None, **attributes: Any) -> str:
        """A node of this kind; returns the name of its output."""
        name = name or f"value_{len(self._nodes)}"
        named = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        self._nodes.append(self._onnx.helper.make_node(kind, named, [name], **attributes))
        return name

    def add_two(self, kind: str, *inputs: str | npt.NDArray[Any], names: tuple[str, str], **attributes: Any) -> None:
        """A node with two outputs."""
        named = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        self._nodes.append(self._onnx.helper.make_node(kind, named, list(names), **attributes))

    def estimator(self, estimator: Any, Z: str, features: int) -> str:
        """The probabilities of an estimator of scikit-learn, in double precision, for its own classes."""
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType

        onnx, prefix = self._onnx, f"estimator_{len(self._nodes)}_"
        kinds: Any = {"initial_types": [("Z", FloatTensorType([None, features]))], "target_opset": OPSET}
        try:
            converted = to_onnx(estimator, options={"zipmap": False}, **kinds)
        except (RuntimeError, NameError, NotImplementedError) as error:
            raise ValueError(
                f"skl2onnx cannot convert a {type(estimator).__name__} ({' '.join(str(error).split())[:150]}); "
                "LogisticRegression, RandomForestClassifier and KNeighborsClassifier, for example, can be exported"
            ) from error
        _compare(estimator, converted, features)
        own = onnx.compose.add_prefix(converted, prefix=prefix)
        self.add("Cast", Z, name=own.graph.input[0].name, to=onnx.TensorProto.FLOAT)
        self._nodes += own.graph.node
        self._constants += own.graph.initializer
        for each in own.opset_import:
            self._domains[each.domain] = max(each.version, self._domains.get(each.domain, 1))
        return self.add("Cast", own.graph.output[1].name, to=onnx.TensorProto.DOUBLE)

    def model(self, features: int, classes: npt.NDArray[Any]) -> Any:
        """The finished graph."""
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        inputs = [helper.make_tensor_value_info("X", kinds.DOUBLE, [None, features])]
        outputs = [
            helper.make_tensor_value_info("probabilities", kinds.DOUBLE, [None, len(classes)]),
            helper.make_tensor_value_info("index", kinds.INT64, [None]),
        ]
        graph = helper.make_graph(self._nodes, "driftway", inputs, outputs, self._constants)
        versions = [helper.make_opsetid(domain, version) for domain, version in self._domains.items()]
        # Runtimes refuse versions of the format that are newer than they are; this is the one of the operators.
        version = helper.find_min_ir_version_for(versions)
        model = helper.make_model(graph, producer_name="driftway", opset_imports=versions, ir_version=version)
        helper.set_model_props(model, {"classes": json.dumps(classes.tolist())})
        self._onnx.checker.check_model(model)
        return model

    def _constant(self, array: npt.NDArray[Any]) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name


def _of_part(graph: _Graph, part: Any, X: str) -> str:
    if part.logarithmic.any():
        # Asinh is not there for doubles: log(|x| + √(x² + 1)), with the sign of x.
        scaled = graph.add("Div", X, part.log_unit)
        size = graph.add("Abs", scaled)
        root = graph.add("Sqrt", graph.add("Add", graph.add("Mul", size, size), np.array([1.0])))
        logs = graph.add("Mul", graph.add("Sign", scaled), graph.add("Log", graph.add("Add", size, root)))
        X = graph.add("Where", part.logarithmic, logs, X)
    Z = graph.add("Div", graph.add("Sub", X, part.centre), part.unit)
    if np.isfinite(part.furthest):
        Z = graph.add("Clip", Z, np.array(-part.furthest), np.array(part.furthest))
    back = graph.add("Div", graph.add("Sub", Z, part.offset), part.gain)
    told = _probabilities(graph, part.estimator, graph.add("Where", part.alive, back, part.instead), part)
    if part.power is None:
        return told
    return _shares(graph, graph.add("Mul", _tempered(graph, told, part.power), part.mix / part.shares))


def _probabilities(graph: _Graph, estimator: Any, Z: str, part: Any) -> str:
    """Of all classes, those that the estimator has not seen with zero."""
    if isinstance(estimator, AutomaticClassifier):
        voices = []
        for name, learner in estimator._learners.items():
            told = _tempered(graph, _probabilities(graph, learner, Z, part), estimator._powers.get(name, 1.0))
            voices.append(graph.add("Mul", told, np.array([estimator.shares_[name]])))
        return graph.add("Sum", *voices)
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(f"a {type(estimator).__name__} has no probabilities to export; give an estimator that has")
    places = np.zeros((len(estimator.classes_), len(part.shares)))
    places[np.arange(len(places)), np.asarray(estimator.classes_, dtype=np.intp)] = 1.0
    if isinstance(estimator, LogisticRegression | LinearDiscriminantAnalysis):
        told = _linear(graph, estimator, Z)
    elif isinstance(estimator, KNeighborsClassifier) and _is_plain(estimator):
        told = _neighbours(graph, estimator, Z)
    else:
        told = graph.estimator(estimator, Z, len(part.alive))
    return graph.add("MatMul", told, places)


def _linear(graph: _Graph, estimator: Any, Z: str) -> str:
    """The logistic function, or softmax, of linear scores."""
    scores = graph.add("Add", graph.add("MatMul", Z, estimator.coef_.T), estimator.intercept_)
    if len(estimator.classes_) > 2:
        return graph.add("Softmax", scores, axis=1)
    second = graph.add("Sigmoid", scores)
    return graph.add("Concat", graph.add("Sub", np.array([1.0]), second), second, axis=1)


def _is_plain(estimator: Any) -> bool:
    return estimator.effective_metric_ == "euclidean" and estimator.weights in ("uniform", "distance")


def _neighbours(graph: _Graph, estimator: Any, Z: str) -> str:
    """The votes of the nearest points, by one over their distances if they are weighed."""
    points = np.asarray(estimator._fit_X, dtype=np.float64)
    votes = np.eye(len(estimator.classes_))[estimator._y]
    own = graph.add("ReduceSum", graph.add("Mul", Z, Z), np.array([1], dtype=np.int64), keepdims=1)
    crossed = graph.add("MatMul", Z, -2.0 * points.T)
    squares = graph.add("Add", graph.add("Add", own, crossed), (points**2).sum(axis=1)[None, :])
    nearest, places = (f"nearest_{squares}", f"places_{squares}")
    count = np.array([estimator.n_neighbors], dtype=np.int64)
    graph.add_two("TopK", squares, count, names=(nearest, places), axis=1, largest=0)
    chosen = graph.add("Gather", votes, places, axis=0)
    if estimator.weights == "distance":
        distances = graph.add("Max", graph.add("Sqrt", graph.add("Max", nearest, np.array([0.0]))), np.array([SAME]))
        weights = graph.add("Unsqueeze", graph.add("Reciprocal", distances), np.array([2], dtype=np.int64))
        chosen = graph.add("Mul", chosen, weights)
    return _shares(graph, graph.add("ReduceSum", chosen, np.array([1], dtype=np.int64), keepdims=0))


def _compare(estimator: Any, converted: Any, features: int) -> None:
    """Raises if a converted estimator answers otherwise than itself."""
    from onnxruntime import InferenceSession

    Z = (2.0 * np.random.default_rng(0).normal(size=(POINTS, features))).astype(np.float32)
    session = InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: Z})[1]
    far = float(np.abs(found - estimator.predict_proba(Z.astype(np.float64))).max())
    if not far <= TOLERANCE:
        raise ValueError(
            f"what skl2onnx makes of a {type(estimator).__name__} answers otherwise (by {far:.2g}): not exported"
        )


def _tempered(graph: _Graph, proba: str, power: float) -> str:
    """Raised to a power and divided by their sum."""
    return _shares(graph, graph.add("Pow", graph.add("Clip", proba, np.array(LEAST), np.array(1.0)), np.array([power])))


def _shares(graph: _Graph, masses: str) -> str:
    """Divided by their sum."""
    return graph.add("Div", masses, graph.add("ReduceSum", masses, np.array([1], dtype=np.int64), keepdims=1))
