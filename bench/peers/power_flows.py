# SPDX-License-Identifier: Apache-2.0
"""pandapower's power flows (Newton), with the solver that is in place; voltages are compared with those by SciPy's."""
import warnings

import numpy as np
import scipy.sparse.linalg

scipys = scipy.sparse.linalg.spsolve
import instead_of_scipy  # noqa: E402: after SciPy's, before pandapower
import pandapower  # noqa: E402
import pandapower.networks  # noqa: E402
import pandapower.pypower.newtonpf as newton  # noqa: E402

NETWORKS = ("case9", "case14", "case30", "case39", "case57", "case118", "case145", "case300", "case1354pegase",
            "case1888rte", "case2848rte", "case2869pegase", "case3120sp", "case6470rte", "case6495rte", "case6515rte",
            "case9241pegase", "GBnetwork", "mv_oberrhein")


def voltages(make, solve):
    newton.spsolve = solve
    net = make()
    pandapower.runpp(net, numba=False, tolerance_mva=1e-8)
    return net.res_bus.vm_pu.to_numpy(), net.res_bus.va_degree.to_numpy(), net._ppc["iterations"]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    ours, good = newton.spsolve, 0
    for name in NETWORKS:
        make = getattr(pandapower.networks, name)
        try:
            expected, found = voltages(make, scipys), voltages(make, ours)
        except Exception as error:  # a network that the package does not solve, or a solver that fails
            print(f"{name}: {type(error).__name__}: {error}")
            continue
        difference = max(np.nanmax(np.abs(e - f)) for e, f in zip(expected[:2], found[:2]))
        good += difference < 1e-8 and expected[2] == found[2]
        print(f"{name}: {expected[0].size} buses, {found[2]} Newton steps ({expected[2]}), largest difference "
              f"{difference:.1e}")
    print(f"{good} passed, {len(NETWORKS) - good} failed")
