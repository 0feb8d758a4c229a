"""Solves files of contact problems with general conic solvers; see conic_problem.h for the format.

usage: conic_solvers.py TOLERANCE FILE...

Prints one line for each file and solver that can be imported: file, solver, time [s] as the solver reports it,
iterations, e_m, e_mu (SAP eq. 32 and 33), status. Times include the solver's own set-up, not this script's.
"""
import sys

import numpy
import scipy.sparse as sparse


def read(path):
    words = iter(open(path).read().split())
    take = lambda n: numpy.array([float(next(words)) for _ in range(n)])
    assert next(words) == "capstan-conic-problem" and next(words) == "1", path
    dofs, blocks, count = (int(next(words)) for _ in range(3))
    A = sparse.lil_matrix((dofs, dofs))
    v_star = None
    contacts = []
    for word in words:
        if word == "block":
            first, n = int(next(words)), int(next(words))
            A[first : first + n, first : first + n] = take(n * n).reshape(n, n)
        elif word == "v_star":
            v_star = take(dofs)
        elif word == "v0":
            take(dofs)
        elif word == "contact":
            mu, R_t, R_n, v_hat = take(4)
            contacts.append({"mu": mu, "R": numpy.array([R_t, R_t, R_n]), "v_hat": v_hat})
            J = numpy.zeros((3, dofs))
            for _ in range(int(next(words))):
                assert next(words) == "part"
                first, n = int(next(words)), int(next(words))
                J[:, first : first + n] += take(3 * n).reshape(3, n)
            contacts[-1]["J"] = sparse.csr_matrix(J)
    assert len(contacts) == count
    return sparse.csc_matrix(A), v_star, contacts


def program(A, v_star, contacts):
    """min 1/2 x^T P x + q^T x, G x + s = h, s in second-order cones of size 3; x = (v, gamma)."""
    dofs, m = len(v_star), len(contacts)
    R = numpy.concatenate([c["R"] for c in contacts])
    P = sparse.block_diag([A, sparse.diags(R)], format="csc")
    q = numpy.concatenate([-A @ v_star, numpy.zeros(3 * m)])
    rows, h = [], numpy.zeros(3 * m)
    for i, c in enumerate(contacts):
        # s = (g_n / mu, g_t), g = J v - v_hat + R gamma
        T = sparse.csr_matrix([[0, 0, 1 / c["mu"]], [1, 0, 0], [0, 1, 0]])
        impulse = sparse.csr_matrix((T @ sparse.diags(c["R"])).toarray())
        left = sparse.csr_matrix((3, 3 * i)) if i else None
        right = sparse.csr_matrix((3, 3 * (m - i - 1))) if i + 1 < m else None
        rows.append(sparse.hstack([b for b in (T @ c["J"], left, impulse, right) if b is not None]))
        h[3 * i] = -c["v_hat"] / c["mu"]
    return P, q, sparse.csc_matrix(-sparse.vstack(rows)), h


def errors(A, v_star, contacts, v, gamma):
    D = 1 / numpy.sqrt(A.diagonal())
    j = sum(c["J"].T @ g for c, g in zip(contacts, gamma))
    e_m = numpy.linalg.norm(D * (A @ (v - v_star) - j)) / max(
        numpy.linalg.norm(D * (A @ v)), numpy.linalg.norm(D * j), 1e-300)
    cost = 0.5 * (v - v_star) @ (A @ (v - v_star)) + sum(0.5 * g @ (c["R"] * g) for c, g in zip(contacts, gamma))
    slack = sum(abs(g @ (c["J"] @ v - [0, 0, c["v_hat"]] + c["R"] * g)) for c, g in zip(contacts, gamma))
    return e_m, slack / len(contacts) / cost


def impulses(z, contacts):
    """From multipliers of the cones, in which the law of contact holds, not from the variables gamma."""
    return [numpy.array([z[3 * i + 1], z[3 * i + 2], z[3 * i] / c["mu"]]) for i, c in enumerate(contacts)]


def solve_clarabel(P, q, G, h, m, tolerance):
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    settings.max_threads = 1
    solver = clarabel.DefaultSolver(sparse.triu(P, format="csc"), q, G, h, [clarabel.SecondOrderConeT(3)] * m, settings)
    s = solver.solve()
    return numpy.array(s.x), numpy.array(s.z), s.solve_time, s.iterations, str(s.status)


def solve_scs(P, q, G, h, m, tolerance):
    import scs

    s = scs.solve({"P": sparse.triu(P, format="csc"), "A": G, "b": h, "c": q}, {"q": [3] * m}, verbose=False,
                  eps_abs=tolerance, eps_rel=tolerance, max_iters=20000)
    info = s["info"]
    return s["x"], s["y"], 1e-3 * (info["setup_time"] + info["solve_time"]), info["iter"], info["status"]


def solve_ecos(P, q, G, h, m, tolerance):
    """ECOS has linear costs only: t >= 1/2 |L^T x|^2 as a cone (t + 1/2, t - 1/2, L^T x)... with P = L L^T."""
    import ecos

    n = len(q)
    dense = numpy.linalg.cholesky(P.toarray())
    L = sparse.csc_matrix(dense)
    quadratic = sparse.vstack([
        sparse.csc_matrix(([-1.0], ([0], [n])), (1, n + 1)), sparse.csc_matrix(([-1.0], ([0], [n])), (1, n + 1)),
        sparse.hstack([-numpy.sqrt(2.0) * L.T, sparse.csc_matrix((n, 1))])])
    # (t + 1)^2 >= (t - 1)^2 + |sqrt 2 L^T x|^2 * 2 <=> 4 t >= 2 |L^T x|^2
    full = sparse.csc_matrix(sparse.vstack([sparse.hstack([G, sparse.csc_matrix((3 * m, 1))]), quadratic]))
    right = numpy.concatenate([h, [1.0, -1.0], numpy.zeros(n)])
    s = ecos.solve(numpy.concatenate([q, [1.0]]), full, right, {"l": 0, "q": [3] * m + [n + 2]}, verbose=False,
                   abstol=tolerance, reltol=tolerance, feastol=tolerance)
    timing = s["info"]["timing"]
    return s["x"][:n], s["z"][: 3 * m], timing["runtime"], s["info"]["iter"], s["info"]["infostring"]


def main():
    tolerance, solvers = float(sys.argv[1]), {}
    for name, solve in (("clarabel", solve_clarabel), ("ecos", solve_ecos), ("scs", solve_scs)):
        try:
            module = __import__(name)
            solvers[name + " " + getattr(module, "__version__", "")] = solve
        except ImportError:
            pass
    for path in sys.argv[2:]:
        A, v_star, contacts = read(path)
        if not contacts:
            continue
        P, q, G, h = program(A, v_star, contacts)
        for name, solve in solvers.items():
            # ECOS would get a dense factor of P: for small problems only.
            if name.startswith("ecos") and len(q) > 600:
                continue
            try:
                # The best of several, as our own times are: other programs on the machine disturb short solves most.
                runs = [solve(P, q, G, h, len(contacts), tolerance) for _ in range(5 if len(q) < 1000 else 2)]
                x, z, time, iterations, status = min(runs, key=lambda run: run[2])
                v = x[: len(v_star)]
                e_m, e_mu = errors(A, v_star, contacts, v, impulses(z, contacts))
            except Exception as trouble:  # a solver's own failure is a result, too
                time, iterations, e_m, e_mu, status = float("nan"), 0, float("nan"), float("nan"), repr(trouble)
            print(path, name.strip().replace(" ", "_"), time, iterations, e_m, e_mu, status.replace(" ", "_"), flush=True)


main()
