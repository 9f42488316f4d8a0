/* SPDX-License-Identifier: Apache-2.0 */
/* The halo in a precision of choice. PETSc's star forest tells who needs what; the messages are ours. */
#include "halo.h"

#include <tessera/codec.h>

#include <math.h>
#include <petscsf.h>
#include <string.h>

static size_t message_bytes(const tp_halo *halo, const PetscInt *at, PetscInt k)
{
    return sizeof(double) + (size_t)(at[k + 1] - at[k]) * tess_precision_bytes(halo->precision);
}

/* Where message k begins; each begins at a multiple of 8 bytes. */
static size_t message_offset(const PetscInt *at, PetscInt k)
{
    return sizeof(double) * (size_t)(at[k] + k);
}

static PetscErrorCode copy_ranks(PetscInt n, const PetscMPIInt *rank, const PetscInt *at, const PetscInt *index,
                                 PetscMPIInt **rank_out, PetscInt **at_out, PetscInt **index_out)
{
    const PetscInt count = n ? at[n] : 0;

    PetscFunctionBegin;
    PetscCall(PetscMalloc3(n, rank_out, n + 1, at_out, count, index_out));
    (*at_out)[0] = 0;
    for (PetscInt k = 0; k < n; k++) {
        (*rank_out)[k] = rank[k];
        (*at_out)[k + 1] = at[k + 1];
    }
    for (PetscInt k = 0; k < count; k++) {
        (*index_out)[k] = index ? index[k] : k;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode find_partners(Mat A, tp_halo *halo)
{
    PetscSF sf;
    PetscLayout columns;
    Mat off;
    const PetscInt *ghost, *at, *index;
    const PetscMPIInt *rank;
    PetscInt n;

    PetscFunctionBegin;
    PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &off, &ghost));
    PetscCall(MatGetSize(off, NULL, &halo->nghosts));
    PetscCall(MatGetLayouts(A, NULL, &columns));
    PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &sf));
    PetscCall(PetscSFSetGraphLayout(sf, columns, halo->nghosts, NULL, PETSC_OWN_POINTER, ghost));
    PetscCall(PetscSFSetUp(sf));
    PetscCall(PetscSFGetRootRanks(sf, &n, &rank, &at, &index, NULL));
    halo->nreceives = n;
    PetscCall(copy_ranks(n, rank, at, index, &halo->receive_rank, &halo->receive_at, &halo->receive_index));
    PetscCall(PetscSFGetLeafRanks(sf, &n, &rank, &at, &index));
    halo->nsends = n;
    PetscCall(copy_ranks(n, rank, at, index, &halo->send_rank, &halo->send_at, &halo->send_index));
    PetscCall(PetscSFDestroy(&sf));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_halo_create(Mat A, tess_precision precision, tp_halo **out)
{
    tp_halo *halo;

    PetscFunctionBegin;
    PetscCall(PetscNew(&halo));
    halo->precision = precision;
    PetscCall(PetscCommDuplicate(PetscObjectComm((PetscObject)A), &halo->comm, &halo->tag));
    PetscCall(find_partners(A, halo));
    PetscCall(PetscMalloc3(message_offset(halo->send_at, halo->nsends), &halo->sent,
                           message_offset(halo->receive_at, halo->nreceives), &halo->received,
                           (size_t)(halo->nsends + halo->nreceives), &halo->request));
    PetscCall(PetscMalloc2(halo->send_at[halo->nsends], &halo->picked, halo->nghosts, &halo->arrived));
    *out = halo;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Powers of two: dividing by the scale and multiplying with it is exact. */
static double scale_of(const tp_halo *halo, PetscInt k)
{
    double largest = 0;
    int exponent = 0;

    if (halo->precision != TESS_PRECISION_FP16) { return 1; }
    for (PetscInt e = halo->send_at[k]; e < halo->send_at[k + 1]; e++) {
        largest = PetscMax(largest, fabs(halo->picked[e]));
    }
    if (largest == 0 || !isfinite(largest)) { return 1; }
    (void)frexp(largest, &exponent);
    return ldexp(1, PetscMax(-1000, PetscMin(1000, exponent - 15)));
}

/* Message k: the scale, then the values over it. */
static void pack(tp_halo *halo, PetscInt k)
{
    char *const message = halo->sent + message_offset(halo->send_at, k);
    const PetscInt first = halo->send_at[k], count = halo->send_at[k + 1] - first;
    const double scale = scale_of(halo, k);
    double largest = 0, error = 0;

    memcpy(message, &scale, sizeof scale);
    for (PetscInt e = 0; e < count; e++) {
        const double x = halo->picked[first + e];
        tess_store(halo->precision, message + sizeof scale, e, x / scale, TESS_OVERFLOW_INFINITY);
        largest = PetscMax(largest, fabs(x));
        error = PetscMax(error, fabs(x - scale * tess_load(halo->precision, message + sizeof scale, e)));
    }
    if (largest > 0) { halo->largest_error = PetscMax(halo->largest_error, error / largest); }
}

/* What was picked goes out. */
static PetscErrorCode send(tp_halo *halo)
{
    PetscFunctionBegin;
    for (PetscInt k = 0; k < halo->nreceives; k++) {
        PetscCallMPI(MPI_Irecv(halo->received + message_offset(halo->receive_at, k),
                               (PetscMPIInt)message_bytes(halo, halo->receive_at, k), MPI_BYTE, halo->receive_rank[k],
                               halo->tag, halo->comm, &halo->request[k]));
    }
    for (PetscInt k = 0; k < halo->nsends; k++) {
        const size_t bytes = message_bytes(halo, halo->send_at, k);
        pack(halo, k);
        PetscCallMPI(MPI_Isend(halo->sent + message_offset(halo->send_at, k), (PetscMPIInt)bytes, MPI_BYTE,
                               halo->send_rank[k], halo->tag, halo->comm, &halo->request[halo->nreceives + k]));
        halo->bytes += (double)bytes;
    }
    halo->exchanges++;
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_halo_begin(tp_halo *halo, const PetscScalar *local)
{
    const PetscInt count = halo->send_at[halo->nsends];

    PetscFunctionBegin;
    for (PetscInt e = 0; e < count; e++) {
        halo->picked[e] = local[halo->send_index[e]];
    }
    PetscCall(send(halo));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_halo_end(tp_halo *halo, PetscScalar *ghosts)
{
    PetscFunctionBegin;
    PetscCallMPI(MPI_Waitall((PetscMPIInt)(halo->nreceives + halo->nsends), halo->request, MPI_STATUSES_IGNORE));
    for (PetscInt k = 0; k < halo->nreceives; k++) {
        const char *const message = halo->received + message_offset(halo->receive_at, k);
        const PetscInt first = halo->receive_at[k], count = halo->receive_at[k + 1] - first;
        double scale;
        memcpy(&scale, message, sizeof scale);
        for (PetscInt e = 0; e < count; e++) {
            ghosts[halo->receive_index[first + e]] = scale * tess_load(halo->precision, message + sizeof scale, e);
        }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- vectors of the library ---- */

/* A row with a one for each value that is sent: its product gathers them on the GPU. */
static PetscErrorCode make_selection(tp_halo *halo, const tess_vector *local)
{
    const PetscInt count = halo->send_at[halo->nsends];
    tess_context *const ctx = tess_vector_context(local);
    tp_rows rows = {.nrows = count, .ncols = (PetscInt)tess_vector_size(local), .j = halo->send_index};
    tess_storage_options options;
    PetscInt *row_ptr;
    PetscScalar *ones;

    PetscFunctionBegin;
    PetscCall(PetscMalloc2(count + 1, &row_ptr, count, &ones));
    for (PetscInt e = 0; e < count; e++) {
        row_ptr[e] = e;
        ones[e] = 1;
    }
    row_ptr[count] = count;
    rows.i = row_ptr;
    rows.a = ones;
    PetscCall(tp_matrix_create(&rows, &halo->selection[0]));
    PetscCall(PetscFree2(row_ptr, ones));
    tess_storage_options_init(&options);
    options.precision = TESS_PRECISION_FP32;
    TessCall(tess_matrix_convert(halo->selection[0], &options, &halo->selection[1]));
    TessCall(tess_vector_create(ctx, count, tess_vector_precision(local), &halo->selected));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode pick_on_gpu(tp_halo *halo, const tess_vector *local)
{
    PetscFunctionBegin;
    if (halo->send_at[halo->nsends] == 0) { PetscFunctionReturn(PETSC_SUCCESS); }
    if (!halo->selected) { PetscCall(make_selection(halo, local)); }
    TessCall(tess_matrix_spmv(halo->selection[1], TESS_OP_NONE, 1, local, 0, halo->selected));
    TessCall(tess_vector_get(halo->selected, halo->picked, TESS_PRECISION_FP64, TESS_MEMORY_HOST));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_halo_begin_vector(tp_halo *halo, const tess_vector *local)
{
    const PetscInt count = halo->send_at[halo->nsends];
    const void *const data = tess_vector_data_const(local);

    PetscFunctionBegin;
    if (tess_context_device(tess_vector_context(local)) == TESS_DEVICE_GPU) {
        PetscCall(pick_on_gpu(halo, local));
    } else if (tess_vector_precision(local) == TESS_PRECISION_FP32) {
        for (PetscInt e = 0; e < count; e++) {
            halo->picked[e] = ((const float *)data)[halo->send_index[e]];
        }
    } else {
        for (PetscInt e = 0; e < count; e++) {
            halo->picked[e] = ((const double *)data)[halo->send_index[e]];
        }
    }
    PetscCall(send(halo));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_halo_end_vector(tp_halo *halo, tess_vector *ghosts)
{
    PetscFunctionBegin;
    PetscCall(tp_halo_end(halo, halo->arrived));
    if (halo->nghosts > 0) { TessCall(tess_vector_set(ghosts, halo->arrived, TESS_PRECISION_FP64, TESS_MEMORY_HOST)); }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_halo_destroy(tp_halo **halo)
{
    tp_halo *h = *halo;

    PetscFunctionBegin;
    if (!h) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscFree3(h->send_rank, h->send_at, h->send_index));
    PetscCall(PetscFree3(h->receive_rank, h->receive_at, h->receive_index));
    PetscCall(PetscFree3(h->sent, h->received, h->request));
    PetscCall(PetscFree2(h->picked, h->arrived));
    tess_vector_destroy(h->selected);
    tess_matrix_destroy(h->selection[1]);
    tess_matrix_destroy(h->selection[0]);
    PetscCall(PetscCommDestroy(&h->comm));
    PetscCall(PetscFree(h));
    *halo = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
}
