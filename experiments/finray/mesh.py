#!/usr/bin/env python3
"""A FinRay finger as a VTK file of tetrahedra: a triangle of two flexible walls that meet at the tip, with ribs
between them, extruded. The finger stands on z = 0, its front wall in the plane x = 0, and leans over no part of it.

    experiments/finray/mesh.py > experiments/finray/finray.vtk
"""
import itertools

LENGTH, BASE, DEPTH = 0.09, 0.03, 0.02  # [m] height, width at the base, extrusion
WALL, TIP = 0.0025, 0.006               # [m] thickness of the walls, width at the tip
ROWS, COLUMNS, LAYERS = 38, 6, 4        # cells along the height, across, over the depth
RIB_EVERY = 7                           # rows

def place(i, j, k):
    """Vertex (across j, up i, deep k): walls of constant thickness, the rest of the width in between."""
    z = LENGTH * i / ROWS
    width = BASE + (TIP - BASE) * z / LENGTH
    inner = width - 2 * WALL
    across = [0, WALL] + [WALL + inner * n / (COLUMNS - 2) for n in range(1, COLUMNS - 2)] + [width - WALL, width]
    return across[j], DEPTH * (k / LAYERS - 0.5), z

def is_solid(i, j):
    is_wall = j in (0, COLUMNS - 1)
    is_end = i < 2 or i >= ROWS - 3
    return is_wall or is_end or i % RIB_EVERY == 0

# Six tets around the diagonal of a cell, in the same way in every cell: neighbours fit.
WAYS = list(itertools.permutations(range(3)))

def main():
    numbers, vertices, tets = {}, [], []
    def number(corner):
        if corner not in numbers:
            numbers[corner] = len(vertices)
            vertices.append(place(*corner))
        return numbers[corner]
    for i, j, k in itertools.product(range(ROWS), range(COLUMNS), range(LAYERS)):
        if not is_solid(i, j):
            continue
        for way in WAYS:
            corner, path = [i, j, k], [number((i, j, k))]
            for axis in way:
                corner[axis] += 1
                path.append(number(tuple(corner)))
            a, b, c, d = (vertices[n] for n in path)
            u, v, w = ([y[n] - a[n] for n in range(3)] for y in (b, c, d))
            det = (u[0] * (v[1] * w[2] - v[2] * w[1]) - u[1] * (v[0] * w[2] - v[2] * w[0])
                   + u[2] * (v[0] * w[1] - v[1] * w[0]))
            tets.append(path if det > 0 else [path[0], path[1], path[3], path[2]])
    print("# vtk DataFile Version 3.0")
    print(f"a FinRay finger: {len(vertices)} vertices, {len(tets)} tets, of experiments/finray/mesh.py")
    print("ASCII\nDATASET UNSTRUCTURED_GRID")
    print(f"POINTS {len(vertices)} double")
    for x in vertices:
        print(" ".join(f"{c:.6g}" for c in x))
    print(f"CELLS {len(tets)} {5 * len(tets)}")
    for tet in tets:
        print("4", *tet)
    print(f"CELL_TYPES {len(tets)}")
    print("\n".join(["10"] * len(tets)))

if __name__ == "__main__":
    main()
