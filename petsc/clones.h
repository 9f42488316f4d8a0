/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that take most of the time on a host, compiled again for wider vectors and for fused multiply and add: if
   compiler and C library can choose at load time. Results are the same, for nothing is contracted or reordered. */
#ifndef TESS_PETSC_CLONES_H
#define TESS_PETSC_CLONES_H

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TP_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define TP_CLONES
#endif

#endif
