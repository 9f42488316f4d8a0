/* SPDX-License-Identifier: Apache-2.0 */
/* Dense operations by storage and arithmetic precision, against cuBLAS and plain loops. */
#include "dense/dense.h"
#include "harness/study.h"

int main(int argc, char **argv)
{
    static const bench_study studies[] = {
        {"operations", NULL, "times of DOT, NRM2, AXPY, SCAL, GEMV and TRSV", study_operations},
    };

    return bench_main(argc, argv, "Dense operations.", studies, (int)(sizeof studies / sizeof *studies));
}
