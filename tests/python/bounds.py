"""Error bounds of results, derived from the number of operations and the roundings of the types."""

import numpy

# Half a unit of the last place of 1.
UNIT = {"float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}


def worst_product_error(c, a, b, out="float16", acc="float32", relu=False):
    """The largest ratio of |c - r| to (K + 2) u_acc (|A||B|) + u_out |r|, where r is the product in float64."""
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    exact = a @ b
    depth = a.shape[1] + 2
    # The smallest subnormal of float16 is 2^-24: half of it is lost below the normal numbers.
    tiny = 2.0**-25 if out == "float16" else 0.0
    bound = depth * UNIT[acc] * (abs(a) @ abs(b)) + UNIT[out] * abs(exact) + tiny
    if relu:
        exact = numpy.maximum(exact, 0)
    error = abs(c.astype(numpy.float64) - exact)
    return float((error / numpy.maximum(bound, 1e-300)).max()) if error.size else 0.0
