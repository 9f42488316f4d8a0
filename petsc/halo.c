/* SPDX-License-Identifier: Apache-2.0 */
/* The halo in a precision of choice. PETSc's star forest tells who needs what; the messages are ours. */
#include "halo.h"

#include "context.h"
#include "errors.h"
#include "halo_values.h"
#include "pinned.h"
#include "rows.h"

#include <math.h>
#include <petscsf.h>
#include <string.h>

/* Kernels that widen the messages of one exchange; each takes some 2 us to launch. */
enum { MOST_KERNELS = 8 };

static size_t message_bytes(const tp_halo *halo, const PetscInt *at, PetscInt k)
{
    return sizeof(double) + (size_t)(at[k + 1] - at[k]) * tess_precision_bytes(halo->precision);
}

/* Where message k begins: after its power of two its values begin at a multiple of 16 bytes, for a GPU to read. */
static size_t message_offset(const PetscInt *at, PetscInt k)
{
    return sizeof(double) * (size_t)(at[k] + at[k] % 2 + 2 * k + 1);
}

/* The values of message k. */
static tp_values values_at(const tp_halo *halo, char *messages, const PetscInt *at, PetscInt k)
{
    return (tp_values){messages + message_offset(at, k) + sizeof(double), halo->precision};
}

static tp_values from_value(void *data, tess_precision precision, PetscInt first)
{
    return (tp_values){(char *)data + (size_t)first * tess_precision_bytes(precision), precision};
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
    PetscInt n = 0; /* PETSc writes an int from 3.23 or so on: the rest of 64 bits stays 0 */

    PetscFunctionBegin;
    PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &off, &ghost));
    PetscCall(MatGetSize(off, NULL, &halo->nghosts));
    PetscCall(MatGetLayouts(A, NULL, &columns));
    PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &sf));
    PetscCall(PetscSFSetGraphLayout(sf, columns, halo->nghosts, NULL, PETSC_OWN_POINTER, ghost));
    PetscCall(PetscSFSetUp(sf));
    PetscCall(PetscSFGetRootRanks(sf, (void *)&n, &rank, &at, &index, NULL));
    halo->nreceives = n;
    PetscCall(copy_ranks(n, rank, at, index, &halo->receive_rank, &halo->receive_at, &halo->receive_index));
    n = 0;
    PetscCall(PetscSFGetLeafRanks(sf, (void *)&n, &rank, &at, &index));
    halo->nsends = n;
    PetscCall(copy_ranks(n, rank, at, index, &halo->send_rank, &halo->send_at, &halo->send_index));
    PetscCall(PetscSFDestroy(&sf));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool is_in_order(const tp_halo *halo)
{
    for (PetscInt g = 0; g < halo->nghosts; g++) {
        if (halo->receive_index[g] != g) { return PETSC_FALSE; }
    }
    return PETSC_TRUE;
}

/* Of this process alone. */
static PetscErrorCode allocate(tp_halo *halo)
{
    const PetscInt count = halo->send_at[halo->nsends];
    tess_context *ctx;

    PetscFunctionBegin;
    halo->in_order = is_in_order(halo);
    PetscCall(PetscMalloc2(message_offset(halo->send_at, halo->nsends), &halo->sent,
                           (size_t)(halo->nsends + halo->nreceives), &halo->request));
    if (!halo->in_order) { PetscCall(PetscMalloc(sizeof(double) * (size_t)halo->nghosts, &halo->unordered)); }
    PetscCall(tp_shares_gpu(&halo->pinned));
    PetscCall(
        tp_pinned_allocate(halo->pinned, message_offset(halo->receive_at, halo->nreceives), (void **)&halo->received));
    PetscCall(tp_pinned_allocate(halo->pinned, sizeof(double) * (size_t)count, &halo->picked));
    PetscCall(tp_context(&ctx));
    if (tess_context_device(ctx) == TESS_DEVICE_GPU) {
        PetscCall(tp_pinned_allocate(halo->pinned, sizeof(double) * (size_t)halo->nghosts, &halo->arrived));
    }
    if (halo->precision != TESS_PRECISION_FP64) {
        PetscCall(PetscMalloc3(count, &halo->owed, count, &halo->error, count, &halo->rounded));
    }
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
    PetscCall(tp_agree(halo->comm, allocate(halo)));
    *out = halo;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Message k with what is owed to its values, and what rounding takes from those. */
static void add_owed(tp_halo *halo, PetscInt k)
{
    double *const value = halo->picked;
    const double per = halo->length != 0 ? 1 / halo->length : 0;

    for (PetscInt e = halo->send_at[k]; e < halo->send_at[k + 1]; e++) {
        halo->error[e] = value[e];
        value[e] += per * halo->owed[e];
    }
}

static void keep_error(tp_halo *halo, PetscInt k, double scale)
{
    const PetscInt first = halo->send_at[k], count = halo->send_at[k + 1] - first;
    const tp_values sent = values_at(halo, halo->sent, halo->send_at, k);
    const tp_values rounded = {halo->rounded + first, TESS_PRECISION_FP64};

    tp_widen_values(&sent, (size_t)count, scale, &rounded);
    for (PetscInt e = first; e < first + count; e++) {
        halo->error[e] -= halo->rounded[e];
    }
}

/* Message k: the scale, then the values over it. A power of two, by which products are exact. */
static void pack(tp_halo *halo, PetscInt k, tess_precision precision)
{
    const tp_values values = from_value(halo->picked, precision, halo->send_at[k]);
    const tp_values to = values_at(halo, halo->sent, halo->send_at, k);
    const size_t count = (size_t)(halo->send_at[k + 1] - halo->send_at[k]);
    const PetscBool exact = tess_precision_bytes(halo->precision) >= tess_precision_bytes(precision);
    double largest, scale, error;

    if (halo->carries) { add_owed(halo, k); }
    largest = exact ? 0 : tp_largest_value(&values, count);
    scale = halo->precision == TESS_PRECISION_FP16 ? tp_scale_for_fp16(largest) : 1;
    error = tp_round_values(&values, count, scale, &to);
    if (halo->carries) { keep_error(halo, k, scale); }
    memcpy(halo->sent + message_offset(halo->send_at, k), &scale, sizeof scale);
    if (largest > 0 && isfinite(largest)) { halo->largest_error = PetscMax(halo->largest_error, error / largest); }
}

/* What was picked, in FP64 or FP32, goes out. */
static PetscErrorCode send(tp_halo *halo, tess_precision precision)
{
    PetscFunctionBegin;
    for (PetscInt k = 0; k < halo->nreceives; k++) {
        PetscCallMPI(MPI_Irecv(halo->received + message_offset(halo->receive_at, k),
                               (PetscMPIInt)message_bytes(halo, halo->receive_at, k), MPI_BYTE, halo->receive_rank[k],
                               halo->tag, halo->comm, &halo->request[k]));
    }
    for (PetscInt k = 0; k < halo->nsends; k++) {
        const size_t bytes = message_bytes(halo, halo->send_at, k);
        pack(halo, k, precision);
        PetscCallMPI(MPI_Isend(halo->sent + message_offset(halo->send_at, k), (PetscMPIInt)bytes, MPI_BYTE,
                               halo->send_rank[k], halo->tag, halo->comm, &halo->request[halo->nreceives + k]));
        halo->bytes += (double)bytes;
    }
    halo->exchanges++;
    PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode wait_for_messages(tp_halo *halo)
{
    PetscFunctionBegin;
    PetscCallMPI(MPI_Waitall((PetscMPIInt)(halo->nreceives + halo->nsends), halo->request, MPI_STATUSES_IGNORE));
    PetscFunctionReturn(PETSC_SUCCESS);
}

static double scale_received(const tp_halo *halo, PetscInt k)
{
    double scale;

    memcpy(&scale, halo->received + message_offset(halo->receive_at, k), sizeof scale);
    return scale;
}

/* Values from the messages in their order. */
static void widen(tp_halo *halo, const tp_values *to)
{
    for (PetscInt k = 0; k < halo->nreceives; k++) {
        const PetscInt first = halo->receive_at[k], count = halo->receive_at[k + 1] - first;
        const tp_values values = values_at(halo, halo->received, halo->receive_at, k);
        const tp_values there = from_value(to->data, to->precision, first);
        tp_widen_values(&values, (size_t)count, scale_received(halo, k), &there);
    }
}

/* What arrived, in the order of the ghosts. */
static void place(const tp_halo *halo, const tp_values *ghosts)
{
    if (ghosts->precision == TESS_PRECISION_FP32) {
        for (PetscInt e = 0; e < halo->nghosts; e++) {
            ((float *)ghosts->data)[halo->receive_index[e]] = ((const float *)halo->unordered)[e];
        }
    } else {
        for (PetscInt e = 0; e < halo->nghosts; e++) {
            ((double *)ghosts->data)[halo->receive_index[e]] = ((const double *)halo->unordered)[e];
        }
    }
}

/* All ghosts, in an array of the host. */
static void unpack(tp_halo *halo, const tp_values *ghosts)
{
    const tp_values unordered = {halo->unordered, ghosts->precision};

    if (halo->in_order) {
        widen(halo, ghosts);
    } else {
        widen(halo, &unordered);
        place(halo, ghosts);
    }
}

static void pick(tp_halo *halo, const void *local, tess_precision precision)
{
    const PetscInt count = halo->send_at[halo->nsends];

    if (precision == TESS_PRECISION_FP32) {
        for (PetscInt e = 0; e < count; e++) {
            ((float *)halo->picked)[e] = ((const float *)local)[halo->send_index[e]];
        }
    } else {
        for (PetscInt e = 0; e < count; e++) {
            ((double *)halo->picked)[e] = ((const double *)local)[halo->send_index[e]];
        }
    }
}

PetscErrorCode tp_halo_begin(tp_halo *halo, const PetscScalar *local)
{
    PetscFunctionBegin;
    pick(halo, local, TESS_PRECISION_FP64);
    PetscCall(send(halo, TESS_PRECISION_FP64));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_halo_end(tp_halo *halo, PetscScalar *ghosts)
{
    const tp_values to = {ghosts, TESS_PRECISION_FP64};

    PetscFunctionBegin;
    PetscCall(wait_for_messages(halo));
    unpack(halo, &to);
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

/* The GPU has then read what came before, too: the messages may be received again. */
static PetscErrorCode pick_on_gpu(tp_halo *halo, const tess_vector *local)
{
    PetscFunctionBegin;
    if (halo->send_at[halo->nsends] == 0) {
        if (halo->pinned) { TessCall(tess_context_synchronize(tess_vector_context(local))); }
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (!halo->selected) { PetscCall(make_selection(halo, local)); }
    TessCall(tess_matrix_spmv(halo->selection[1], TESS_OP_NONE, 1, local, 0, halo->selected));
    TessCall(tess_vector_get(halo->selected, halo->picked, tess_vector_precision(local), TESS_MEMORY_HOST));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_halo_begin_vector(tp_halo *halo, const tess_vector *local)
{
    PetscFunctionBegin;
    halo->values = tess_vector_precision(local);
    if (tess_context_device(tess_vector_context(local)) == TESS_DEVICE_GPU) {
        PetscCall(pick_on_gpu(halo, local));
        halo->unsent = PETSC_TRUE;
    } else {
        pick(halo, tess_vector_data_const(local), halo->values);
        PetscCall(send(halo, halo->values));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ghosts := scale * values, from page-locked memory by a kernel, for which nothing waits. */
static PetscErrorCode read_by_gpu(const tp_values *values, PetscInt first, PetscInt count, double scale,
                                  tess_vector *ghosts)
{
    tess_context *const ctx = tess_vector_context(ghosts);
    const tp_values to = from_value(tess_vector_data(ghosts), tess_vector_precision(ghosts), first);
    tess_vector *source = NULL, *target = NULL;
    tess_status status;

    PetscFunctionBegin;
    if (count == 0) { PetscFunctionReturn(PETSC_SUCCESS); }
    status = tess_vector_wrap(ctx, count, values->precision, values->data, &source);
    if (status == TESS_SUCCESS) { status = tess_vector_wrap(ctx, count, to.precision, to.data, &target); }
    if (status == TESS_SUCCESS) { status = tess_vector_axpby(scale, source, 0, target, TESS_ARITHMETIC_FP64); }
    tess_vector_destroy(source);
    tess_vector_destroy(target);
    TessCall(status);
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* A kernel a message: the bytes of the messages alone cross. */
static PetscErrorCode unpack_by_gpu(tp_halo *halo, tess_vector *ghosts)
{
    PetscFunctionBegin;
    for (PetscInt k = 0; k < halo->nreceives; k++) {
        const PetscInt first = halo->receive_at[k], count = halo->receive_at[k + 1] - first;
        const tp_values values = values_at(halo, halo->received, halo->receive_at, k);
        PetscCall(read_by_gpu(&values, first, count, scale_received(halo, k), ghosts));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where there are many messages, or they come in another order, the host unpacks them. */
static PetscErrorCode unpack_for_gpu(tp_halo *halo, tess_vector *ghosts)
{
    const tp_values arrived = {halo->arrived, tess_vector_precision(ghosts)};

    PetscFunctionBegin;
    unpack(halo, &arrived);
    if (halo->pinned) {
        PetscCall(read_by_gpu(&arrived, 0, halo->nghosts, 1, ghosts));
    } else {
        TessCall(tess_vector_set(ghosts, arrived.data, arrived.precision, TESS_MEMORY_HOST));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode tp_halo_end_vector(tp_halo *halo, tess_vector *ghosts)
{
    const tp_values to = {tess_vector_data(ghosts), tess_vector_precision(ghosts)};

    PetscFunctionBegin;
    if (halo->unsent) { PetscCall(send(halo, halo->values)); }
    halo->unsent = PETSC_FALSE;
    PetscCall(wait_for_messages(halo));
    if (halo->nghosts == 0) { PetscFunctionReturn(PETSC_SUCCESS); }
    if (tess_context_device(tess_vector_context(ghosts)) == TESS_DEVICE_CPU) {
        unpack(halo, &to);
    } else if (halo->pinned && halo->in_order && halo->nreceives <= MOST_KERNELS) {
        PetscCall(unpack_by_gpu(halo, ghosts));
    } else {
        PetscCall(unpack_for_gpu(halo, ghosts));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what is carried ---- */

PetscErrorCode tp_halo_carry_reset(tp_halo *halo)
{
    const PetscInt count = halo->send_at[halo->nsends];

    PetscFunctionBegin;
    PetscCall(PetscArrayzero(halo->owed, count));
    PetscCall(PetscArrayzero(halo->error, count));
    halo->length = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is owed is given back over the longest of the recent steps: over a shorter one a longer step would give back
   more than that, and lengths that alternate would let it grow. */
void tp_halo_carry_step(tp_halo *halo, double length)
{
    static const double DECAY = 0.9;

    for (PetscInt e = 0; e < halo->send_at[halo->nsends]; e++) {
        halo->owed[e] += length * halo->error[e];
    }
    halo->length = copysign(PetscMax(fabs(length), DECAY * fabs(halo->length)), length);
}

void tp_halo_carry_guess(tp_halo *halo)
{
    tp_halo_carry_step(halo, 1);
    halo->length = 0;
}

PetscErrorCode tp_halo_destroy(tp_halo **halo)
{
    tp_halo *h = *halo;

    PetscFunctionBegin;
    if (!h) { PetscFunctionReturn(PETSC_SUCCESS); }
    PetscCall(PetscFree3(h->send_rank, h->send_at, h->send_index));
    PetscCall(PetscFree3(h->receive_rank, h->receive_at, h->receive_index));
    PetscCall(PetscFree2(h->sent, h->request));
    PetscCall(PetscFree(h->unordered));
    PetscCall(PetscFree3(h->owed, h->error, h->rounded));
    PetscCall(tp_pinned_free(h->pinned, (void **)&h->received));
    PetscCall(tp_pinned_free(h->pinned, &h->picked));
    PetscCall(tp_pinned_free(h->pinned, &h->arrived));
    tess_vector_destroy(h->selected);
    tess_matrix_destroy(h->selection[1]);
    tess_matrix_destroy(h->selection[0]);
    PetscCall(PetscCommDestroy(&h->comm));
    PetscCall(PetscFree(h));
    *halo = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
}
