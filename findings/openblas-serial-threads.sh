#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Debian 12's libopenblas0-serial, libopenblas0-pthread and libopenblas0-openmp 0.3.21+ds-4.
# One would guess: the OpenBLAS without threads of its own is the one for programs that have theirs, as Netlib's is.
# What happens: two threads that multiply matrices of their own get wrong products now and then. The others are right.
# Seen on 2026-11-30: 8 threads, 24,000 products of 150 x 150 with small integers; 6 to 138 wrong, in some runs none.
. "$(dirname "$0")/common.sh"
command -v gcc >/dev/null && command -v apt-get >/dev/null || { echo "skipped: needs gcc and apt-get"; exit 77; }
for kind in serial pthread openmp; do
    apt-get download -q libopenblas0-$kind=0.3.21+ds-4 >/dev/null 2>&1 ||
        { echo "skipped: no libopenblas0-$kind"; exit 77; }
    dpkg -x libopenblas0-${kind}_*.deb .
done
cat >threads.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 150, THREADS = 8, ROUNDS = 3000 };

void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *);

static void *multiply(void *seed)
{
    static const double one = 1.0, zero = 0.0;
    const int n = N;
    const size_t bytes = sizeof(double) * N * N;
    double *a = malloc(bytes), *right = malloc(bytes), *c = malloc(bytes);
    long wrong = 0;
    unsigned state = *(unsigned *)seed;

    memset(right, 0, bytes);
    for (int i = 0; i < N * N; i++) a[i] = rand_r(&state) % 7;
    for (int j = 0; j < N; j++) /* small integers: any order of sums is exact */
        for (int k = 0; k < N; k++)
            for (int i = 0; i < N; i++) right[i + j * N] += a[i + k * N] * a[k + j * N];
    for (int k = 0; k < ROUNDS; k++) {
        dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
        wrong += memcmp(c, right, bytes) != 0;
    }
    return (void *)wrong;
}

int main(void)
{
    pthread_t thread[THREADS];
    unsigned seeds[THREADS];
    long wrong = 0;

    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i + 1;
        pthread_create(&thread[i], NULL, multiply, &seeds[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        void *count;
        pthread_join(thread[i], &count);
        wrong += (long)count;
    }
    return wrong > 0;
}
END
for kind in serial pthread openmp; do
    libraries=$(echo usr/lib/*/openblas-$kind)
    gcc -O2 threads.c -o threads-$kind "$libraries"/libopenblas*-r0.3.21.so -Wl,-rpath,"$PWD/$libraries" -lpthread
    wrong=no
    for _ in 1 2 3 4; do
        OPENBLAS_NUM_THREADS=1 ./threads-$kind || wrong=yes
        [ $wrong = no ] || break
    done
    echo "$kind: wrong products: $wrong"
done >seen
same seen <<'END'
serial: wrong products: yes
pthread: wrong products: no
openmp: wrong products: no
END
