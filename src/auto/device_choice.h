/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESS_AUTO_DEVICE_CHOICE_H
#define TESS_AUTO_DEVICE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/context.h>

/* Where a solve should take less time, by the rates alone, and why in a few words: CPU or GPU. */
tess_device choose_device_by_rates(int64_t nrows, int64_t nnz, bool started, char *why, size_t length);

#endif
