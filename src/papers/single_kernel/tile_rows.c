/* SPDX-License-Identifier: Apache-2.0 */
/* How a single kernel divides tiles of layout resident. */
#include "papers/single_kernel/tile_rows.h"

#include "format/tiles/tiles.h"
#include "matrix/matrix.h"

static bool reads(const tess_matrix *m)
{
    return tess_matrix_layout(m) == TESS_LAYOUT_RESIDENT;
}

static single_shape shape(const tess_matrix *m)
{
    const tiles_storage *tiles = m->storage;

    return (single_shape){
        .tiles = tiles->assignment->grid.first, .start = tiles->view.start, .ntiles = tiles->assignment->grid.nblocks};
}

const single_rows single_rows_tiles = {.reads = reads,
                                       .shape = shape,
                                       .block_bytes = (int)sizeof(narrowing_bounds),
                                       .run_bytes = (int)sizeof(single_segment)};
