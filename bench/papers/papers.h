/* SPDX-License-Identifier: Apache-2.0 */
/* Studies whose code is here: those of bench_papers; gmres is one of bench_solve, digits and lossless are of
 * bench_product. */
#ifndef TESS_BENCH_PAPERS_PAPERS_H
#define TESS_BENCH_PAPERS_PAPERS_H

int study_digits(int argc, char **argv, const char *parts);
int study_lossless(int argc, char **argv, const char *parts);
int study_accuracy(int argc, char **argv, const char *parts);
int study_split(int argc, char **argv, const char *parts);
int study_block(int argc, char **argv, const char *parts);
int study_jacobi(int argc, char **argv, const char *parts);
int study_timestep(int argc, char **argv, const char *parts);
int study_roofline(int argc, char **argv, const char *parts);
int study_krylov_papers(int argc, char **argv, const char *parts);
int study_gmres(int argc, char **argv, const char *parts);

#endif
