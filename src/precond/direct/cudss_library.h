/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of cuDSS' interface that is used here, as version 1.0 documents it. With 0.8 a singular system ended in an
 * illegal instruction.
 */
#ifndef TESS_PRECOND_DIRECT_CUDSS_LIBRARY_H
#define TESS_PRECOND_DIRECT_CUDSS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Results of calls. */
enum { CUDSS_OK = 0, CUDSS_NO_MEMORY = 2, CUDSS_UNSUPPORTED = 4 };
/* Types of values and of indices. */
enum { CUDSS_FP32 = 0, CUDSS_FP64 = 1, CUDSS_INT32 = 10 };
/* Kinds of matrices, the part that is read, and how they are stored. */
enum { CUDSS_GENERAL = 0, CUDSS_SYMMETRIC = 1, CUDSS_DEFINITE = 3 };
enum { CUDSS_WHOLE = 0, CUDSS_LOWER = 1 };
enum { CUDSS_FROM_ONE = 1, CUDSS_BY_COLUMNS = 0 };
/* Steps. */
enum { CUDSS_ANALYSE = 3, CUDSS_FACTOR = 4, CUDSS_SOLVE = 1008 };
/* Settings, with values of type int. */
enum { CUDSS_TRANSPOSED = 4, CUDSS_THREADS = 14, CUDSS_REPEATABLE = 24 };
/* Questions. ESTIMATES: of bytes, 16 numbers of 64 bits, kept and peak of the device first. FLOPS: 64 bits. */
enum { CUDSS_INFO = 0, CUDSS_FACTOR_ENTRIES = 1, CUDSS_CHANGED_PIVOTS = 2, CUDSS_ESTIMATES = 13, CUDSS_FLOPS = 26 };
enum { CUDSS_ESTIMATE_COUNT = 16 };
/* Properties of the library. */
enum { CUDSS_MAJOR = 0, CUDSS_MINOR = 1 };

/* Result, name, parameters. Objects are pointers. */
#define CUDSS_FUNCTIONS(FUNCTION)                                                                                    \
    FUNCTION(cudssGetProperty, (int which, int *value))                                                              \
    FUNCTION(cudssCreate, (void **handle))                                                                           \
    FUNCTION(cudssDestroy, (void *handle))                                                                           \
    FUNCTION(cudssSetStream, (void *handle, void *stream))                                                           \
    FUNCTION(cudssSetThreadingLayer, (void *handle, const char *path))                                               \
    FUNCTION(cudssConfigCreate, (void **config))                                                                     \
    FUNCTION(cudssConfigDestroy, (void *config))                                                                     \
    FUNCTION(cudssConfigSet, (void *config, int which, const void *value, size_t bytes))                             \
    FUNCTION(cudssDataCreate, (void *handle, void **data))                                                           \
    FUNCTION(cudssDataDestroy, (void *handle, void *data))                                                           \
    FUNCTION(cudssDataGet, (void *handle, void *data, int which, void *value, size_t bytes, size_t *written))        \
    FUNCTION(cudssDataSet, (void *handle, void *data, int which, const void *value, size_t bytes))                   \
    FUNCTION(cudssMatrixCreateCsr, (void **matrix, int64_t nrows, int64_t ncols, int64_t nnz, const void *row_start, \
                                    const void *row_end, const void *column, const void *val, int offset_type,       \
                                    int index_type, int value_type, int kind, int part, int base))                   \
    FUNCTION(cudssMatrixCreateDn, (void **matrix, int64_t nrows, int64_t ncols, int64_t stride, const void *val,     \
                                   int value_type, int layout))                                                      \
    FUNCTION(cudssMatrixSetValues, (void *matrix, const void *val))                                                  \
    FUNCTION(cudssMatrixDestroy, (void *matrix))                                                                     \
    FUNCTION(cudssExecute, (void *handle, int step, void *config, void *data, void *matrix, void *solution, void *rhs))

enum { CUDSS_PATH_LENGTH = 1024 };

/* The functions of one library; `version`: 100 times the major number, and the minor one; `threads`: the path of its
   layer for threads of the host, which lies beside it, or "". */
typedef struct cudss_library {
#define FUNCTION(name, parameters) int(*name) parameters;
    CUDSS_FUNCTIONS(FUNCTION)
#undef FUNCTION
    int version;
    char threads[CUDSS_PATH_LENGTH];
} cudss_library;

enum { CUDSS_LEAST_VERSION = 100 };

/* Loads `path` (NULL: looks for it). false: *why tells why not, in at most `length` bytes. */
bool cudss_load(const char *path, cudss_library *out, char *why, size_t length);

#endif
