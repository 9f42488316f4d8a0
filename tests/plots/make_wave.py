#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_wave.py FOLDER: the samples of the picture `wave`, 759 points of a shell like a ventricle and the potential on
them at three times, while a front rises from the apex."""

import math
import pathlib
import sys

POINTS, SNAPSHOTS = 759, 3
REST, EXCITED = -85.0, 30.0


def points():
    """On half of an ellipsoid, from the apex to the base, each a golden angle further around the axis."""
    for i in range(POINTS):
        height = (i + 0.5) / POINTS
        around = i * math.pi * (3.0 - math.sqrt(5.0))
        radius = 3.0 * math.sqrt(1.0 - (1.0 - height) ** 2)
        yield radius * math.cos(around), radius * math.sin(around), 6.0 * height


def potential(point, time):
    """A smooth front, which has come to the height 6 time, and a recovery that follows it."""
    ahead = point[2] - 6.0 * time + 0.3 * math.sin(2.0 * math.atan2(point[1], point[0]))
    return REST + (EXCITED - REST) / (1.0 + math.exp(4.0 * ahead)) * math.exp(0.1 * min(ahead, 0.0))


def write(path, columns):
    """A dense matrix, column after column."""
    numbers = "".join(f"{value:.6g}\n" for column in columns for value in column)
    head = "%%MatrixMarket matrix array real general"
    path.write_text(f"{head}\n{len(columns[0])} {len(columns)}\n{numbers}", encoding="ascii")


def main(folder):
    cloud = list(points())
    write(folder / "wave.points.mtx", list(zip(*cloud)))
    for k in range(SNAPSHOTS):
        write(folder / f"wave.step{k}.mtx", [[potential(p, k / SNAPSHOTS) for p in cloud]])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
