/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file papers.h  What only the studies of the papers take: tiles as they are printed, narrowing, a superseded recurrence.
 *
 * Nothing here is chosen by TESS_FORMAT_AUTO, TESS_ENGINE_AUTO or TESS_RECURRENCE_AUTO, and tessera.h does not include it.
 * Options are pointed to by tess_storage_options.papers and tess_solve_options.papers. The library copies them in
 * tess_matrix_convert, tess_precond_create, tess_solver_create and tess_timestep_create; they need not outlive the call.
 */
#ifndef TESSERA_PAPERS_H
#define TESSERA_PAPERS_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/matrix.h>
#include <tessera/solver.h>

TESS_BEGIN_DECLS

/* ---- tiles ---- */

/** Whose design a format follows where it has two: ours, or the paper's as it is printed. */
typedef enum tess_kernel {
    TESS_KERNEL_DEFAULT = 0, /**< the library's */
    TESS_KERNEL_PAPER = 1    /**< tiles: Zhao et al. 2024, section 3.2.2 */
} tess_kernel;

/** How tiles are laid out (src/format/tiles/README.md). */
typedef enum tess_layout {
    TESS_LAYOUT_TCKI = 0, /**< the blocks of one precision merged (Zhao et al. 2024, section 3.2.2) */
    TESS_LAYOUT_RESIDENT =
        1 /**< 16x16 tiles each by itself, which a solve may pass over or narrow (Yang et al. 2024, III-B) */
} tess_layout;

/** The formats of the blocks of tiles with kernel paper. */
enum { TESS_TCKI_COO = 0, TESS_TCKI_CSR = 1, TESS_TCKI_ELL = 2, TESS_TCKI_HYB = 3, TESS_TCKI_FORMATS = 4 };

/**
 * What decides a block's format: COO where its density is below @c density (default 0.02), else ELL where the coefficient of
 * variation of its rows' lengths is below @c low (0.2), HYB where it is above @c high (0.9), and CSR in between, bounds included.
 */
typedef struct tess_tcki_thresholds {
    double density, low, high; /**< 0: the default */
} tess_tcki_thresholds;

/** How tiles are stored. Set by tess_papers_storage_init; zero stands for a field's default in all but `size`. */
typedef struct tess_papers_storage {
    size_t size;                          /**< sizeof(tess_papers_storage) */
    tess_kernel kernel;                   /**< --kernel: paper: for tiles alone */
    tess_layout layout;                   /**< --layout: resident: for tiles of 16x16 with kernel default */
    tess_tcki_thresholds tcki_thresholds; /**< --tcki-thresholds: kernel paper; read there alone */
} tess_papers_storage;

TESS_EXPORT void tess_papers_storage_init(tess_papers_storage *papers);

/** How tiles are laid out; TCKI for anything else. */
TESS_EXPORT tess_layout tess_matrix_layout(const tess_matrix *a);

/**
 * How many blocks of tiles with kernel paper are in each format, by TESS_TCKI_COO to TESS_TCKI_HYB. Errors: UNSUPPORTED (anything
 * else). tests/unit/test_tcki.c
 */
TESS_EXPORT tess_status tess_matrix_tcki_counts(const tess_matrix *a, int64_t counts[TESS_TCKI_FORMATS]);

/* ---- solves ---- */

/**
 * Partial convergence (Yang et al. 2024, section III-D), of CG and BiCGSTAB with a matrix in tiles of layout resident:
 * where the 16 elements of a segment of the multiplied vector are small, the tiles of its columns are used in FP32, FP16
 * or FP8, or passed over. Values are narrowed over a power of two per tile, so that no range ends. In BiCGSTAB a product
 * passes over by its own vector, and narrows as far as both vectors allow. The true residual decides: with the guard on
 * `repair`, a solve that was misled goes on with the tiles as they are stored. Misled is too a cycle whose residual norm
 * falls below no other power of two in 4 n iterations (at most 2,000 or a quarter of max_iterations, at least 100) and
 * ends them with tiles narrowed.
 */
typedef enum tess_narrowing {
    TESS_NARROWING_OFF = 0, /**< tiles as they are stored (default) */
    /** below eps, 1e-1 eps, 1e-2 eps and 1e-3 eps, an absolute number: atol where it is above 0, else rtol; what was
        narrowed stays so */
    TESS_NARROWING_PAPER = 1,
    /** below 2^8, 2^-5, 2^-12 and 2^-16 times rtol ||b|| / sqrt(n) (times ||M^-1 r|| / ||r|| of the cycle's first residual
        r, with a preconditioner M), so that scaling A or b by a power of two changes nothing; tiles are used in their own
        precision again when a segment grows */
    TESS_NARROWING_SAFE = 2
} tess_narrowing;

/** How a solve departs from the library's own. Set by tess_papers_solve_init. */
typedef struct tess_papers_solve {
    size_t size; /**< sizeof(tess_papers_solve) */
    /** --narrowing (off): CG and BiCGSTAB with recurrence standard, storage in tiles of layout resident; else UNSUPPORTED.
        tests/unit/test_narrowed_solves.c */
    tess_narrowing narrowing;
    /**
     * --recurrence one-reduction: 1: all inner products of an iteration of CG at once, A p by a recurrence (Chronopoulos and
     * Gear, J. Comput. Appl. Math. 25 (1989), section 4); every 50 iterations of a cycle r is replaced by b - A x and A p by
     * a product, so that rounding does not add up. In the engines single-kernel and plain; cg.recurrence is auto beside it.
     */
    int one_reduction;
} tess_papers_solve;

TESS_EXPORT void tess_papers_solve_init(tess_papers_solve *papers);

/** What narrowing did in the last solve. Set `size` by tess_papers_result_init. */
typedef struct tess_papers_result {
    size_t size;              /**< sizeof(tess_papers_result) */
    tess_narrowing narrowing; /**< as asked for */
    int narrowing_misled; /**< 1 when the guard found the solve misled by it and went on with tiles as they are stored */
    /** Products of a tile and a vector's segment in the loops, by the precision that the tile was used in. */
    int64_t tile_products[TESS_MOST_PRECISIONS];
    int64_t tile_products_bypassed; /**< those that were not made */
} tess_papers_result;

/** Zeros, and `size`. */
TESS_EXPORT void tess_papers_result_init(tess_papers_result *result);
/** Of the last solve; zeros before the first. Errors: INVALID_ARGUMENT (size). */
TESS_EXPORT tess_status tess_solver_papers_result(const tess_solver *solver, tess_papers_result *result);

/** Names of the enums above, and the reverse: INVALID_ARGUMENT leaves *out alone. */
TESS_EXPORT const char *tess_kernel_name(tess_kernel kernel);
TESS_EXPORT tess_status tess_kernel_parse(const char *name, tess_kernel *out);
TESS_EXPORT const char *tess_layout_name(tess_layout layout);
TESS_EXPORT tess_status tess_layout_parse(const char *name, tess_layout *out);
TESS_EXPORT const char *tess_narrowing_name(tess_narrowing narrowing);
TESS_EXPORT tess_status tess_narrowing_parse(const char *name, tess_narrowing *out);

TESS_END_DECLS

#endif
