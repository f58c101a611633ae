"""Points and their convex hulls."""

from __future__ import annotations

import numpy as np


def components(count: int, pairs: np.ndarray) -> list[list[int]]:
    """Return the connected components of a graph on 0 ... count - 1."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    number, labels = connected_components(graph, directed=False)
    return [np.flatnonzero(labels == k).tolist() for k in range(number)]


def distinct(points: np.ndarray, close: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points (rows) that are no closer than that to one another, and how often each was seen."""
    kept: list[np.ndarray] = []
    counts: list[int] = []
    for point in points:
        near = [k for k, other in enumerate(kept) if np.abs(point - other).max() <= close]
        if near:
            counts[near[0]] += 1
        else:
            kept.append(point)
            counts.append(1)
    return np.array(kept), np.array(counts)


def nearest(points: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the point of the convex hull of `points` (rows) that is nearest to the target."""
    from scipy.optimize import nnls

    size = max(np.abs(points).max(), np.abs(target).max(), 1e-300)
    heavy = 1e4
    matrix = np.concatenate([points.T / size, heavy * np.ones((1, len(points)))])
    weights, _ = nnls(matrix, np.concatenate([target / size, [heavy]]))
    return points.T @ (weights / max(weights.sum(), 1e-300))


def distance(points: np.ndarray, target: np.ndarray) -> float:
    """Return the largest difference, over the elements, between the target and the nearest point of the hull."""
    return float(np.abs(target - nearest(points, target)).max())
