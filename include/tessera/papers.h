/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file papers.h  Options for studies of the papers: tiles as printed, narrowing, a superseded recurrence.
 *
 *     tess_papers_storage papers;
 *     tess_papers_storage_init(&papers);
 *     papers.layout = TESS_LAYOUT_RESIDENT;
 *     options.storage.papers = &papers;             the library copies it during the call
 *
 * tessera.h does not include this header, and the library never chooses what is here by itself. The structs are passed
 * by tess_storage_options.papers and tess_solve_options.papers. They need not outlive the call of tess_matrix_convert,
 * tess_precond_create, tess_solver_create or tess_timestep_create. Details: docs/reference/papers.md.
 */
#ifndef TESSERA_PAPERS_H
#define TESSERA_PAPERS_H

#include <stddef.h>
#include <stdint.h>

#include <tessera/matrix.h>

TESS_BEGIN_DECLS

typedef struct tess_solver tess_solver; /* solver.h */

/* ---- tiles ---- */

/** Whose design a format follows: the library's, or the paper's as printed. */
typedef enum tess_kernel {
    TESS_KERNEL_DEFAULT = 0, /**< the library's */
    TESS_KERNEL_PAPER = 1    /**< tiles: Zhao et al. 2024, section 3.2.2; split: CSR-Vector of Tezcan et al. 2022 */
} tess_kernel;

/** How tiles are laid out (src/format/tiles/README.md). */
typedef enum tess_layout {
    TESS_LAYOUT_GROUPED = 0, /**< blocks of one precision stored together (after Zhao et al. 2024, section 3.2.2) */
    TESS_LAYOUT_RESIDENT = 1 /**< 16x16 tiles that a solve can skip or narrow one by one (Yang et al. 2024, III-B) */
} tess_layout;

/** The formats of blocks with kernel paper. */
enum { TESS_TCKI_COO = 0, TESS_TCKI_CSR = 1, TESS_TCKI_ELL = 2, TESS_TCKI_HYB = 3, TESS_TCKI_FORMATS = 4 };

/**
 * Kernel paper chooses the format of a block by its density and by the coefficient of variation c of its row lengths:
 * COO if the density is below @c density (0.02); else ELL if c < @c low (0.2), HYB if c > @c high (0.9), and CSR
 * otherwise.
 */
typedef struct tess_tcki_thresholds {
    double density, low, high; /**< 0: the default */
} tess_tcki_thresholds;

/** How tiles are stored. Zero stands for a field's default, except for `size`. */
typedef struct tess_papers_storage {
    size_t size;                          /**< sizeof(tess_papers_storage) */
    tess_kernel kernel;                   /**< --kernel; paper is only for tiles */
    tess_layout layout;                   /**< --layout; resident is only for tiles of 16x16 with kernel default */
    tess_tcki_thresholds tcki_thresholds; /**< --tcki-thresholds, only read with kernel paper */
} tess_papers_storage;

/** Sets `size` and the defaults. */
TESS_EXPORT void tess_papers_storage_init_sized(tess_papers_storage *papers, size_t size);
static inline void tess_papers_storage_init(tess_papers_storage *papers)
{
    tess_papers_storage_init_sized(papers, sizeof *papers);
}

/** The layout of tiles; the default one for any other matrix. */
TESS_EXPORT tess_layout tess_matrix_layout(const tess_matrix *a);

/**
 * Counts the blocks of tiles with kernel paper by format: counts[TESS_TCKI_COO] to counts[TESS_TCKI_HYB].
 * Errors: UNSUPPORTED (any other matrix). tests/unit/test_tcki.c
 */
TESS_EXPORT tess_status tess_matrix_tcki_counts(const tess_matrix *a, int64_t counts[TESS_TCKI_FORMATS]);

/* ---- solves ---- */

/**
 * Narrowing ("partial convergence" of Yang et al. 2024, section III-D), for CG and BiCGSTAB with tiles of layout
 * resident. If the 16 elements of a segment of the multiplied vector are small, the tiles of its columns are used in
 * FP32, FP16 or FP8, or skipped. The true residual decides: with the guard on `repair`, a solve that narrowing misled
 * continues with the tiles as stored. Rules: docs/reference/papers.md.
 */
typedef enum tess_narrowing {
    TESS_NARROWING_OFF = 0, /**< tiles as stored (default) */
    /** Bounds eps, 1e-1 eps, 1e-2 eps, 1e-3 eps, with eps = narrowing_epsilon, else atol, else rtol. Narrowed tiles
        stay narrowed. */
    TESS_NARROWING_PAPER = 1,
    /** Bounds 2^8, 2^-5, 2^-12, 2^-16 times a unit that follows the scale of A and b. When a segment grows, its tiles
        are used as stored again. */
    TESS_NARROWING_SAFE = 2
} tess_narrowing;

/** Options of a solve. */
typedef struct tess_papers_solve {
    size_t size; /**< sizeof(tess_papers_solve) */
    /** --narrowing (off). Only CG and BiCGSTAB with recurrence standard and tiles of layout resident; otherwise the
        set-up fails with UNSUPPORTED. tests/unit/test_narrowed_solves.c */
    tess_narrowing narrowing;
    /** --recurrence one-reduction: 1 takes this form of CG (Chronopoulos and Gear, J. Comput. Appl. Math. 25 (1989),
        section 4). Only in the engines single-kernel and plain, with cg.recurrence auto. docs/reference/papers.md */
    int one_reduction;
    /** --narrowing-epsilon: the eps of mode paper, and the rtol in the unit of mode safe. 0 (default): the solve's own
        tolerance, so that a run with rtol 0 narrows nothing. A fixed number of iterations needs it. */
    double narrowing_epsilon;
} tess_papers_solve;

/** Sets `size` and the defaults. */
TESS_EXPORT void tess_papers_solve_init_sized(tess_papers_solve *papers, size_t size);
static inline void tess_papers_solve_init(tess_papers_solve *papers)
{
    tess_papers_solve_init_sized(papers, sizeof *papers);
}

/** What narrowing did in the last solve. Call tess_papers_result_init first: it sets `size`. */
typedef struct tess_papers_result {
    size_t size;              /**< sizeof(tess_papers_result) */
    tess_narrowing narrowing; /**< as in the options */
    int narrowing_misled;     /**< 1 if narrowing misled the solve, and the guard went on with the tiles as stored */
    /** Products of a tile and a segment in the iterations, by the precision that the tile was used in. */
    int64_t tile_products[TESS_MAX_PRECISIONS];
    int64_t tile_products_bypassed; /**< products that were skipped */
} tess_papers_result;

/** Sets `size`, and all else to zero. */
TESS_EXPORT void tess_papers_result_init_sized(tess_papers_result *result, size_t size);
static inline void tess_papers_result_init(tess_papers_result *result)
{
    tess_papers_result_init_sized(result, sizeof *result);
}
/** Fills *result for the last solve; zeros before the first. Errors: INVALID_ARGUMENT (size). */
TESS_EXPORT tess_status tess_solver_papers_result(const tess_solver *solver, tess_papers_result *result);

/** Names of the enums above. Parsers return INVALID_ARGUMENT for an unknown name and leave *out unchanged. */
TESS_EXPORT const char *tess_kernel_name(tess_kernel kernel);
TESS_EXPORT tess_status tess_kernel_parse(const char *name, tess_kernel *out);
TESS_EXPORT const char *tess_layout_name(tess_layout layout);
TESS_EXPORT tess_status tess_layout_parse(const char *name, tess_layout *out);
TESS_EXPORT const char *tess_narrowing_name(tess_narrowing narrowing);
TESS_EXPORT tess_status tess_narrowing_parse(const char *name, tess_narrowing *out);

TESS_END_DECLS

#endif
