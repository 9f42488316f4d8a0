# SPDX-License-Identifier: Apache-2.0
"""Random small systems of the kinds that solvers meet. Only the standard library; a seed gives the same system on every
machine. make(generator) returns a System: rows (a list of {column: value}), and what is known of them."""
import dataclasses


@dataclasses.dataclass
class System:
    kind: str
    rows: list
    symmetric: bool
    penalties: tuple = ()  # rows whose right-hand side carries the penalty

    @property
    def size(self):
        return len(self.rows)


def graph(random, n):
    """Edges of a connected graph: a path, and some more."""
    edges = {(i, i + 1): random.uniform(0.5, 2) for i in range(n - 1)}
    for _ in range(random.randrange(n)):
        i, j = sorted(random.choices(range(n), k=2))
        if i != j:
            edges[i, j] = random.uniform(0.1, 3)
    return edges


def stiffness(random, n, ground):
    """A weighted graph's Laplacian, with `ground` added to the diagonal."""
    rows = [{i: ground} for i in range(n)]
    for (i, j), weight in graph(random, n).items():
        rows[i][j] = rows[j][i] = -weight
        rows[i][i] += weight
        rows[j][j] += weight
    return rows


def definite(random, n):
    return System("definite", stiffness(random, n, random.choice((1.0, 0.1, 1e-3))), True)


def singular(random, n):
    """Pure Neumann: rows sum to zero up to rounding."""
    return System("singular", stiffness(random, n, 0.0), True)


def nearly_singular(random, n):
    return System("nearly singular", stiffness(random, n, 10.0**random.randint(-16, -6)), True)


def indefinite(random, n):
    rows = stiffness(random, n, 0.0)
    for i in range(n):
        rows[i][i] -= random.uniform(0, 6)
    return System("indefinite", rows, True)


def unsymmetric(random, n):
    dominance = random.choice((0.0, 0.5, 1.0, 1.1))
    rows = []
    for i in range(n):
        row = {random.randrange(n): random.uniform(-1, 1) for _ in range(random.randint(1, 6))}
        row[i] = dominance * sum(map(abs, row.values())) + random.choice((0.0, 1e-3, 1.0))
        rows.append(row)
    return System("unsymmetric", rows, False)


def upwind(random, n):
    """Convection on a line, with couplings against the wind that nearly vanish."""
    wind, back = random.uniform(1, 100), random.choice((0.0, 1e-15, 1e-3, 1.0))
    rows = [{i: wind + back + random.choice((0.0, 1.0))} for i in range(n)]
    for i in range(1, n):
        rows[i][i - 1] = -wind
        rows[i - 1][i] = -back
    return System("upwind", rows, False)


def deficient(random, n):
    """A row without entries, or one that repeats another."""
    system = unsymmetric(random, n)
    i = random.randrange(n)
    system.rows[i] = {} if random.random() < 0.5 else dict(system.rows[random.randrange(n)])
    return System("deficient", system.rows, False)


def penalty(random, n):
    """Boundary values held by large entries of the diagonal."""
    rows = stiffness(random, n, 0.0)
    held = tuple(sorted({0, n - 1, random.randrange(n)}))
    size = 10.0**random.choice((6, 8, 10, 14, 20, 30))
    for i in held:
        rows[i][i] = size
    return System("penalty", rows, True, held)


def scaled(random, rows, low, high, by_row):
    scales = [10.0**random.uniform(low, high) for _ in rows]
    return [{j: value * scales[i if by_row else j] for j, value in row.items()} for i, row in enumerate(rows)]


def graded_rows(random, n):
    width = random.choice((2, 5, 9, 15))
    return System("graded rows", scaled(random, random.choice((definite, upwind, unsymmetric))(random, n).rows, -width,
                                        width, True), False)


def graded_columns(random, n):
    width = random.choice((2, 5, 9))
    return System("graded columns", scaled(random, definite(random, n).rows, -width, width, False), False)


def extreme(random, n):
    """Near the ends of the range of FP64: subnormal, or almost infinite."""
    system = random.choice((definite, unsymmetric, upwind))(random, n)
    factor = random.choice((1e-318, 1e-310, 1e-300, 1e-160, 1e160, 1e300))
    rows = [{j: value * factor for j, value in row.items()} for row in system.rows]
    return System("extreme", rows, system.symmetric)


def integer(random, n):
    rows = stiffness(random, n, 0.0)
    rows = [{j: float(round(value)) for j, value in row.items()} for row in rows]
    for i in range(n):
        rows[i][i] = float(1 + sum(abs(value) for j, value in rows[i].items() if j != i) - random.choice((0, 1)))
    return System("integer", rows, True)


def dense(random, n):
    n = min(n, 16)
    return System("dense", [{j: random.gauss(0, 1) for j in range(n)} for _ in range(n)], False)


def permuted(random, n):
    """No diagonal: the rows of another system in another order."""
    rows = random.choice((upwind, definite))(random, n).rows
    random.shuffle(rows)
    return System("permuted", rows, False)


KINDS = (definite, singular, nearly_singular, indefinite, unsymmetric, upwind, deficient, penalty, penalty, graded_rows,
         graded_rows, graded_columns, extreme, integer, dense, permuted)


def make(random):
    n = random.choice((1, 2, 3, random.randint(4, 20), random.randint(4, 60), random.randint(20, 60)))
    return random.choice(KINDS)(random, n)


def product(rows, x):
    """A x in FP64, in some order."""
    return [sum(value * x[j] for j, value in row.items()) for row in rows]


def right_hand_side(random, system):
    """A list of numbers; with penalties they are those of boundary values."""
    n = system.size
    kind = random.choice(("ones", "random", "product", "product", "one entry", "zero", "tiny", "huge"))
    if kind == "ones":
        b = [1.0] * n
    elif kind == "product":
        b = product(system.rows, [random.uniform(-1, 1) for _ in range(n)])
    elif kind == "one entry":
        b = [0.0] * n
        b[random.randrange(n)] = random.uniform(-9, 9)
    elif kind == "zero" and random.random() < 0.3:
        b = [0.0] * n
    else:
        factor = {"tiny": random.choice((1e-20, 1e-165, 1e-320)), "huge": random.choice((1e20, 1e150))}.get(kind, 1.0)
        b = [factor * random.uniform(-1, 1) for _ in range(n)]
    for i in system.penalties:
        b[i] = system.rows[i][i] * random.choice((0.0, 1.0, 3.0))
    return b
