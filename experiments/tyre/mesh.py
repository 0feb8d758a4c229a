#!/usr/bin/env python3
"""A hollow tyre as a VTK file of tetrahedra: a tube of rubber around the y axis, one layer of cells thick.

    experiments/tyre/mesh.py > experiments/tyre/tyre.vtk
"""
import itertools
import math

RADIUS, TUBE, HOLE = 0.1, 0.03, 0.025  # [m] of the middle of the tube, of the tube, of its hole
AROUND, ABOUT = 30, 6                  # cells around the axle and about the tube, even numbers


def place(i, j, k):
    """Vertex i around the axle, j about the tube, k = 0 inside, 1 outside."""
    wheel, tube = 2 * math.pi * i / AROUND, 2 * math.pi * j / ABOUT
    r = (HOLE, TUBE)[k]
    out = RADIUS + r * math.cos(tube)
    return out * math.cos(wheel), r * math.sin(tube), out * math.sin(wheel)


def volume(a, b, c, d):
    u, v, w = ([p[n] - a[n] for n in range(3)] for p in (b, c, d))
    return sum(u[n] * (v[(n + 1) % 3] * w[(n + 2) % 3] - v[(n + 2) % 3] * w[(n + 1) % 3]) for n in range(3))


def main():
    vertices = [place(i, j, k) for i, j, k in itertools.product(range(AROUND), range(ABOUT), range(2))]
    tets = []
    for i, j in itertools.product(range(AROUND), range(ABOUT)):
        # Six tets about a diagonal, which neighbours have mirrored: the tyre leans to no side.
        begin, step = (i + i % 2, j + j % 2, 0), ((-1) ** i, (-1) ** j, 1)
        for way in itertools.permutations(range(3)):
            corner, tet = list(begin), []
            for axis in (None, *way):
                if axis is not None:
                    corner[axis] += step[axis]
                tet.append(((corner[0] % AROUND) * ABOUT + corner[1] % ABOUT) * 2 + corner[2])
            if volume(*(vertices[n] for n in tet)) < 0:
                tet[2], tet[3] = tet[3], tet[2]
            tets.append(tet)
    print("# vtk DataFile Version 3.0\ntyre\nASCII\nDATASET UNSTRUCTURED_GRID")
    print(f"POINTS {len(vertices)} double")
    for x in vertices:
        print("%.6g %.6g %.6g" % x)
    print(f"CELLS {len(tets)} {5 * len(tets)}")
    for tet in tets:
        print(4, *tet)
    print(f"CELL_TYPES {len(tets)}")
    print("10\n" * len(tets), end="")


main()
