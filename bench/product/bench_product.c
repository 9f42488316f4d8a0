/* SPDX-License-Identifier: Apache-2.0 */
/* y = A x: formats and precisions against cuSPARSE, and what stored precisions cost in digits and bytes. */
#include "harness/study.h"
#include "papers/papers.h" /* digits, lossless: tables of papers */
#include "product/formats.h"

int main(int argc, char **argv)
{
    static const bench_study studies[] = {
        {"formats", NULL, "times of y = A x by format and precision, against cuSPARSE", study_formats},
        {"columns", NULL, "times of y = A x for several columns at once, against cuSPARSE SpMM", study_columns},
        {"digits", NULL, "significant digits and bytes with policy mean-3std, with F = 0.5 and with F chosen",
         study_digits},
        {"lossless", NULL, "precisions and bytes of tiles with policy lossless", study_lossless},
    };

    return bench_main(argc, argv, "Products of a sparse matrix and a vector.", studies,
                      (int)(sizeof studies / sizeof *studies));
}
