/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of the tool share: exit codes, arguments, input, output, progress. */
#ifndef TESS_CLI_H
#define TESS_CLI_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tessera/codec.h>
#include <tessera/papers.h>
#include <tessera/tessera.h>

/* Exit codes: scripts rely on them. */
enum {
    CLI_CONVERGED = 0, /* or: the command succeeded */
    CLI_NOT_CONVERGED = 1,
    CLI_USAGE = 2,
    CLI_INPUT = 3, /* input, format, or a file that cannot be written */
    CLI_DEVICE = 4,
    CLI_BREAKDOWN = 5
};

typedef struct cli_command {
    const char *name;
    const struct argp *argp;
    int (*run)(int argc, char **argv);
} cli_command;

extern const cli_command cli_command_info, cli_command_spmv, cli_command_solve, cli_command_compare,
    cli_command_generate, cli_command_convert, cli_command_timestep;

/* ---- help.c: --help and --usage ---- */

/* The groups of options in help: `group` of argp_option. Within a group the numbers sort, up to nine above these. */
enum {
    CLI_GROUP_MAIN = 10,
    CLI_GROUP_STOPPING = 20,
    CLI_GROUP_PRECISION = 30,
    CLI_GROUP_PRECOND = 40,
    CLI_GROUP_METHOD = 50,
    CLI_GROUP_OUTPUT = 60,
    CLI_GROUP_DEVICE = 70,
    CLI_GROUP_PAPERS = 80
};
/* The texts of --format and --policy, whose defaults differ between commands. A command with another default repeats
   the option in its own table with the flag OPTION_DOC; help then prints that text instead of the child's. */
#define CLI_FORMAT_HELP(standard)                                                                \
    "how the matrix is stored (default " standard "):\n{formats}\nauto: chosen for the matrix\n" \
    "{shorthands}; with policy mean-3std"
#define CLI_POLICY_HELP(standard)                                               \
    "which values go to a low precision (default " standard "):\n"              \
    "none: no values\n"                                                         \
    "fixed-range[:R]: magnitudes below R (default 1)\n"                         \
    "mean-range[:F]: magnitudes below F times the mean (default 0.1)\n"         \
    "mean-3std[:F]: below F (mean + 3 standard deviations) (default 0.5)\n"     \
    "mean-3std:auto: the largest F, up to 0.5, that keeps 7 digits in 95 % "    \
    "of the elements of y\n"                                                    \
    "lossless[:E]: values that lose at most E, relative (default 0: nothing)\n" \
    "lossless with {whole}: one precision for the whole matrix"
#define CLI_MATRIX_HELP                                                                                       \
    "MATRIX is a file (.mtx, .mtx.gz, .tess, .npz, .npy, .petsc), - for standard input, or a model problem, " \
    "gallery:NAME[:ARG...]."
void cli_print_help(FILE *stream, const char *program, const struct argp *argp);
void cli_print_usage(FILE *stream, const char *program, const struct argp *argp);

/* ---- arguments.c: what happens before argp sees the command line ---- */

typedef struct cli_preset {
    const char *name;
    const char *options[13]; /* the full expansion, ended by NULL */
} cli_preset;

typedef struct cli_arguments {
    int argc;
    char **argv; /* owned, and so are the strings listed in `owned` */
    char **owned;
    int owned_count;
    const cli_preset *preset; /* NULL: no preset */
} cli_arguments;

/*
 * Checks every option's name against `argp` (with the nearest name in the message), refuses those of later versions,
 * and, with `solver_synonyms`, translates PETSc's names and expands --preset. --help, --usage and --version print and
 * end the program. Returns 0 or CLI_USAGE, message printed.
 */
int cli_arguments_prepare(const struct argp *argp, int argc, char **argv, bool solver_synonyms, cli_arguments *out);
/* Calls argp, whose own --help is off. */
void cli_arguments_parse(const struct argp *argp, const cli_arguments *arguments, void *input);
void cli_arguments_free(cli_arguments *arguments);
/* "yang, tezcan-jacobi or loe", or each on a line of its own with the options that it stands for. */
const char *cli_presets_text(bool expanded, char *buffer, size_t size);

/* The candidate that resembles `word` most, or NULL when none is near. */
const char *cli_nearest(const char *word, const char *const *candidates, int count);

/* ---- petsc.c: PETSc's names of options ---- */

/* Whether it is one of them, perhaps with =VALUE; *ours is the option here, NULL if it is accepted without effect. */
bool cli_is_petsc(const char *argument, const char **ours);
const char *cli_nearest_petsc(const char *argument); /* NULL: none is near */
/* What stands for the one at argv[*i] here, which the caller frees; NULL if nothing does. Moves *i over its value.
   Returns an exit code, message printed but for memory. */
int cli_translate_petsc(int argc, char **argv, int *i, char **translated);
/* "--solver", or the name in PETSc that was given for it: for messages about its value. */
const char *cli_option_text(const char *option, char *buffer, size_t size);

/* ---- values.c: values of options; on a bad one they end the program through argp_error (exit 2) ---- */

double cli_parse_real(struct argp_state *state, const char *option, const char *text, double low, double high);
/* A number of bytes, perhaps with K, M, G or T for powers of 1024. */
int64_t cli_parse_bytes(struct argp_state *state, const char *option, const char *text);
int64_t cli_parse_integer(struct argp_state *state, const char *option, const char *text, int64_t low, int64_t high);
uint64_t cli_parse_seed(struct argp_state *state, const char *option, const char *text);
/* Index of `text` in the list `available`; words in `later` are known but not in this version. Both end with NULL. */
int cli_parse_word(struct argp_state *state, const char *option, const char *text, const char *const *available,
                   const char *const *later);
/* Lists the names of a public enum that an option may have, ended by NULL; returns their number. CLI_MAX_NAMES are
   enough for any enum. */
enum { CLI_MAX_NAMES = 32 };
int cli_list_names(const char *type, const char **words);
/* The enumerator of that name, in either case. */
int cli_parse_name(struct argp_state *state, const char *option, const char *text, const char *type);
/* The name of an output file. Refuses an empty name, and "-", which only the JSON report takes. */
const char *cli_parse_output(struct argp_state *state, const char *option, const char *text);
/* A precision of an option with that name. */
tess_precision cli_parse_precision(struct argp_state *state, const char *option, const char *text);
tess_solver_kind cli_parse_solver(struct argp_state *state, const char *text);
tess_engine cli_parse_engine(struct argp_state *state, const char *text);
tess_recurrence cli_parse_recurrence(struct argp_state *state, const char *text);
tess_orthogonalization cli_parse_orthogonalization(struct argp_state *state, const char *text);
/* STORAGE or STORAGE/ARITHMETIC, and the reverse. */
tess_role_precision cli_parse_role(struct argp_state *state, const char *option, const char *text);
const char *cli_role_text(const tess_role_precision *role, char *buffer, size_t size);
json_t *cli_role_json(const tess_role_precision *role); /* null where it is not given */
tess_precond_options cli_parse_precond(struct argp_state *state, const char *text);
tess_precision_schedule cli_parse_schedule(struct argp_state *state, const char *text);
/* "fp32:20,mixed,fp64"; written into `buffer`, cut off where it is too small */
enum { CLI_SCHEDULE_TEXT = 256 };
const char *cli_schedule_text(const tess_precision_schedule *schedule, char *buffer, size_t size);
/* Whether a step takes the precisions that a policy chose. */
bool cli_has_mixed(const tess_precision_schedule *schedule);
tess_scaling cli_parse_scaling(struct argp_state *state, const char *text);
tess_reordering cli_parse_reordering(struct argp_state *state, const char *text);

/* A vector named on the command line. */
typedef enum cli_vector_source {
    CLI_VECTOR_ONES,
    CLI_VECTOR_A_TIMES_ONES,
    CLI_VECTOR_A_TIMES_RAMP, /* A x with x_i = i / n, i from 1 */
    CLI_VECTOR_RANDOM,       /* in (-1, 1) */
    CLI_VECTOR_UNIFORM,      /* in (0, 1) */
    CLI_VECTOR_FILE
} cli_vector_source;

typedef struct cli_vector_choice {
    cli_vector_source source;
    uint64_t seed;
    bool seeded; /* a seed was given after the colon */
    const char *path;
} cli_vector_choice;
cli_vector_choice cli_parse_vector(struct argp_state *state, const char *option, const char *text, bool a_times_ones);
/* "ones", "random:7", the path, ...; written into `buffer` */
const char *cli_vector_describe(const cli_vector_choice *choice, char *buffer, size_t size);

/* ---- shared.c: options that several commands have, context, input ---- */

typedef struct cli_host_options {
    int threads;
    const char *json;
    bool force; /* an output may replace an input */
} cli_host_options;
extern const struct argp cli_host_argp;   /* --threads --json */
extern const struct argp cli_device_argp; /* --device; input: tess_device */
/* Where the options of storage go, with the facts about the command line that the options themselves do not hold. */
typedef struct cli_storage_choice {
    tess_storage_options *options;
    tess_papers_storage papers; /* options->papers */
    const char *granularity;    /* the argument of --granularity; NULL: not given */
    const char *shorthand;      /* the shorthand given to --format, such as pbp; NULL: none */
    bool policy;                /* --policy was given */
    bool assigns;               /* info without --format: the policy is for the assignment only, not for the storage */
    bool chosen;                /* --format auto was given; options->format is the chosen format once it is known */
} cli_storage_choice;
/* Call it before argp, and after setting the defaults of the options: these get a pointer into the choice. */
void cli_storage_choice_init(cli_storage_choice *choice, tess_storage_options *options);
/* --format --matrix-precision --max-padding --sell-window --arithmetic; input: cli_storage_choice */
extern const struct argp cli_storage_argp;
json_t *cli_storage_json(const tess_storage_options *options, bool chosen);
/* "tiles", or "tiles (chosen)" if --format auto chose it. */
const char *cli_format_text(tess_format format, bool chosen, char *buffer, size_t size);

/* waiting.c: starts the program once more with settings under which the idle threads of OpenMP sleep soon, unless the
   environment has such settings. Call it first in main(). */
void cli_limit_spinning(char **argv);

/* Sets the program's name for messages ("tessera solve"). */
void cli_set_name(const char *name);
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_print_version(FILE *stream);
/* Flushes standard output. Returns `code`, or CLI_INPUT with a message if the output could not be written. */
int cli_close_output(int code);
/* Prints the last error of the context (NULL: the status alone) and returns the exit code that belongs to it. */
int cli_report_failure(const tess_context *ctx, tess_status status);

typedef struct cli_progress cli_progress;
/* Opens a context whose log goes to stderr; returns an exit code, message printed. */
int cli_open_context(tess_device device, int threads, cli_progress *progress, tess_context **out);
const char *cli_device_name(const tess_context *ctx); /* "cpu", "cuda" or "hip" */
void cli_print_device(const tess_context *ctx);       /* the line of a report */

typedef struct cli_matrix {
    tess_matrix *a;
    const char *name;
    bool from_file;
    tess_mtx_info info; /* of a file */
    double seconds;     /* to read or generate it */
} cli_matrix;
/* `name` is a file or gallery:NAME[:ARG...]. Returns an exit code, message printed. */
int cli_load_matrix(tess_context *ctx, const char *name, cli_matrix *out);
/* A model problem; a wrong name or argument is a usage error. Returns an exit code, message printed. */
int cli_generate(tess_context *ctx, const char *name, int nargs, const char *const *args, tess_matrix **out);
/* A vector of n values. Only a-times-ones and a-times-ramp need `a`. Returns an exit code, message printed. */
int cli_load_vector(tess_context *ctx, const cli_vector_choice *choice, const char *option, int64_t n,
                    const tess_matrix *a, tess_vector **out);
bool cli_ends_with(const char *text, const char *end);
/* The file of an argument: that of standard input for "-". */
const char *cli_input_path(const char *path);
/* After a file of an option was not found: what the option takes. */
void cli_hint_file(const char *option);
/* Whether `path` ends as a matrix file does: .mtx, .mtx.gz, .tess, .npz, .petsc. */
bool cli_is_matrix_path(const char *path);
int cli_write_matrix(const tess_matrix *a, const char *path, bool symmetric);
double cli_seconds(void);

/* " fp64 fp32 ...", for texts. */
#define CLI_PRECISION_NAMES TESS_PRECISION_LIST(CLI_PRECISION_NAME)
#define CLI_PRECISION_NAME(NAME, value, name, ...) " " #name

/* ---- formats.c: what formats can do ---- */

typedef bool (*cli_capability)(const tess_format_capabilities *can);
bool cli_takes_parts(const tess_format_capabilities *can);
bool cli_copies_levels(const tess_format_capabilities *can);
bool cli_is_by_blocks(const tess_format_capabilities *can);
bool cli_rounds_products(const tess_format_capabilities *can);
bool cli_takes_papers(const tess_format_capabilities *can);
bool cli_is_base(const tess_format_capabilities *can);
bool cli_may_differ(const tess_format_capabilities *can); /* as a base: may differ from that of the other parts */
/* The first format with a capability; TESS_FORMAT_AUTO: none. */
tess_format cli_find_format(cli_capability has);
/* The names of all such formats: "split, composite or tiles" if `last` is " or "; or as a list ended by NULL, of at
   most CLI_MAX_NAMES. */
const char *cli_formats_text(cli_capability has, const char *last, char *buffer, size_t size);
int cli_list_formats(cli_capability has, const char **words);
const char *cli_granularities_text(tess_format format, char *buffer, size_t size);
/* Shorthands such as pbp: a format by blocks with a policy. The second function returns TESS_FORMAT_AUTO for another
   word. */
int cli_list_shorthands(const char **words);
tess_format cli_find_shorthand(const char *text);
/* A text of help with lists in place of its {WORDS}: names of formats with a capability, of an enum, of presets. */
const char *cli_fill_lists(const char *text, char *buffer, size_t size);
bool cli_in_set(unsigned set, int value);

bool cli_takes_policy(tess_format format);
/* Whether a policy decides the precisions. Format auto: whether a policy was given. */
bool cli_is_mixed(const tess_storage_options *options);
/* Whether policy lossless chooses the precision of the whole matrix. */
bool cli_is_lossless_whole(const tess_storage_options *options);
/* Sets the format's default granularity if none was given. */
void cli_settle_granularity(tess_storage_options *options);
/* Whether the format takes the granularity. */
bool cli_storage_is_possible(const tess_storage_options *options);
/* --row-order if the format has row orders, else original. */
tess_row_order cli_row_order(const tess_storage_options *options);
/* Replaces auto in the options by the chosen format and its granularity, for reports. */
void cli_note_format(tess_format format, tess_storage_options *options);
/* Refuses options that do not fit the format: returns 0 or CLI_USAGE, message printed. */
int cli_check_storage(tess_context *ctx, const tess_storage_options *options);

/* ---- policy_options.c: precisions by policy ---- */

/* --granularity --policy --block --share --levels --allow-underflow --base --row-order; input: cli_storage_choice. A
   child of cli_storage_argp. */
extern const struct argp cli_policy_argp;
/* "e4m3 (exact)": the precision of a matrix that has one. It says "exact" for a precision below fp64 that stores every
   value exactly. */
const char *cli_precision_text(tess_precision precision, bool exact, char *buffer, size_t size);
/* A policy and its levels, of options with these names. */
void cli_parse_policy(struct argp_state *state, const char *option, const char *text, tess_policy_options *policy);
void cli_parse_share(struct argp_state *state, const char *option, const char *text, tess_policy_options *policy);
void cli_parse_levels(struct argp_state *state, const char *option, const char *text, tess_policy_options *policy);
/* Jacobi and time steps always use these settings of split and composite; sets them for reports. */
void cli_note_sweep(tess_storage_options *options);
/* As cli_note_format, with the parameter and the base that were chosen for a stored matrix. */
void cli_note_choices(const tess_matrix *stored, tess_storage_options *options);
/* Prints a line with the parameter, if the library chose it. */
void cli_print_parameter(const tess_storage_options *options);
/* One line if a policy put all nonzeros into fp64: then it does nothing. */
void cli_print_untouched(const tess_policy_options *policy, const int64_t per_precision[TESS_MAX_PRECISIONS]);
void cli_print_untouched_matrix(const tess_matrix *stored);
/* Nonzeros by precision; false: no policy stored the matrix. */
bool cli_count_precisions(const tess_matrix *stored, int64_t per_precision[TESS_MAX_PRECISIONS]);
/* Rows (entries, blocks), nonzeros and the largest relative error at each precision, a line each. */
void cli_print_precisions(const tess_assignment_summary *s);
const char *cli_levels_text(const tess_policy_options *options, char *buffer, size_t size);
void cli_print_assignment(const tess_assignment_summary *summary, int64_t nrows);
json_t *cli_assignment_json(const tess_assignment_summary *summary, int64_t nrows);
/* Adds the options above to an object. */
void cli_add_policy_json(json_t *object, const tess_storage_options *options);

/* ---- papers_options.c: what the papers' studies of tiles take ---- */

/* --kernel --tcki-thresholds --layout; input: cli_storage_choice */
extern const struct argp cli_papers_argp;
/* The papers' options; defaults if the pointer is NULL. */
const tess_papers_storage *cli_papers(const tess_storage_options *options);
/* Refuses the options above if format or kernel do not have them: returns 0 or CLI_USAGE, message printed. Part of
   cli_check_storage. */
int cli_check_papers(tess_context *ctx, const tess_storage_options *options);
void cli_add_papers_json(json_t *object, const tess_storage_options *options);
/* How many blocks of a stored matrix have each format, if the matrix has such blocks. */
typedef struct cli_block_formats {
    bool known;
    int64_t count[TESS_TCKI_FORMATS];
} cli_block_formats;
cli_block_formats cli_find_block_formats(const tess_matrix *stored, const tess_storage_options *options);
void cli_print_block_formats(const cli_block_formats *formats);
json_t *cli_block_formats_json(const cli_block_formats *formats); /* null where it is not known */

/* ---- precond_options.c: preconditioners ---- */

/* --precond --precond-precision --polynomial-form --triangular --leaf --precond-format --precond-policy
   --precond-levels; input: tess_precond_options */
extern const struct argp cli_precond_argp;
/* "block-jacobi:8"; uses `buffer` if the text is not a plain name */
const char *cli_precond_text(const tess_precond_options *precond, char *buffer, size_t size);
/* Adds the options but --precond to an object, --precond-precision as `role` says. */
void cli_add_precond_json(json_t *object, const tess_precond_options *precond);
/* A line about incomplete factors; none for other preconditioners. */
/* Whether it has incomplete factors. */
bool cli_is_incomplete(tess_precond_kind kind);
void cli_print_factors(const tess_precond_options *precond, const tess_solve_result *result);

/* ---- nullspace.c: the near-nullspace of amg, from files ---- */

typedef struct cli_nullspace {
    const char *coordinates, *vectors; /* files; NULL: not given */
    double *values;                    /* what the options of amg point to */
} cli_nullspace;
extern const struct argp cli_nullspace_argp; /* --coordinates --near-nullspace; input: cli_nullspace */
/* Refuses the options above for other preconditioners: returns 0 or CLI_USAGE, message printed. */
int cli_check_nullspace(const cli_nullspace *nullspace, const tess_precond_options *precond);
/* Reads the files for a matrix, and sets the options. Returns an exit code, message printed. Free it in any case. */
int cli_load_nullspace(tess_context *ctx, const tess_matrix *a, cli_nullspace *nullspace, tess_amg_options *amg);
void cli_free_nullspace(cli_nullspace *nullspace);
/* Adds the files' names to an object. */
void cli_add_nullspace_json(json_t *object, const cli_nullspace *nullspace);

/* ---- plot.c: a picture of the precisions ---- */

typedef struct cli_plot {
    const char *path;
    int width, height;
} cli_plot;
/* Draws the matrix, of a CPU context, and sets width and height. Returns an exit code, message printed. */
int cli_plot_assignment(const tess_matrix *a, const tess_assignment *assignment, cli_plot *plot);
void cli_print_plot(const cli_plot *plot, const tess_policy_options *options);
json_t *cli_plot_json(const cli_plot *plot, const tess_policy_options *options);

/* ---- files.c ---- */

enum { CLI_MAX_FILES = 8 };
typedef struct cli_output {
    const char *option; /* without dashes */
    const char **path;  /* where its value is; NULL there: not given */
} cli_output;
typedef struct cli_files {
    const char *input[CLI_MAX_FILES]; /* NULL, and names that are no file, are passed over */
    cli_output output[CLI_MAX_FILES]; /* up to the first without a path */
    const char *resume;               /* one of the inputs, which --checkpoint may replace */
    bool force;
} cli_files;
/* Before the work starts: checks that all outputs can be written, and that none is an input. An output on standard
   output gets it for itself, and the report goes to stderr. Returns an exit code, message printed. */
int cli_prepare_files(const cli_files *files);

/* ---- multigrid.c: the levels of algebraic multigrid ---- */

/* false: the preconditioner, which may be NULL, has no levels. */
bool cli_find_levels(const tess_precond *m, tess_amg_levels *out);
/* The mean factor per iteration of the residual's norm; NaN: unknown. */
double cli_convergence_factor(const tess_solve_result *result);
/* The factor of the error's norm by the last of some cycles alone. */
tess_status cli_measure_factor(const tess_matrix *a, const tess_precond *m, double *factor);
void cli_print_levels(const tess_amg_levels *levels, double factor);
json_t *cli_levels_json(const tess_amg_levels *levels, double factor);

/* ---- output.c ---- */

/* Checks before the work starts that `path` can be written (NULL is fine). Returns 0 or CLI_INPUT, message printed. */
int cli_check_output(const char *path);
/* Writes a complete file under another name and renames it. Devices and pipes are written directly; "-" is stdout. */
int cli_write_file(const char *path, int (*write)(FILE *file, const void *user), const void *user);
int cli_write_json(const char *path, json_t *root); /* takes the reference to root */
bool cli_text_wanted(const char *json_path);        /* false when the JSON itself goes to stdout */
json_t *cli_json_real(double value);                /* null for NaN and Inf */
json_t *cli_json_text(const char *text);            /* bytes that are not UTF-8 become '?' */
const char *cli_bytes_text(double bytes, char *buffer, size_t size);
const char *cli_seconds_text(double seconds, char *buffer, size_t size);

/* ---- progress.c ---- */

struct cli_progress {
    bool terminal;     /* stderr is one: a line that overwrites itself */
    bool every;        /* --monitor: a line for each iteration */
    bool line_open;    /* the terminal's current line has text */
    const char *label; /* what is solved, before the iteration; NULL: nothing */
    double budget;     /* seconds after which the solve is stopped; 0: none */
    double rhs_norm;
    double first_residual;
    double next_seconds;
    int64_t max_iterations;
};
void cli_progress_init(cli_progress *progress);
int cli_progress_monitor(void *user, const tess_progress *state);
void cli_progress_end(cli_progress *progress);
void cli_log(void *user, tess_log_level level, const char *message);
tess_log_level cli_log_level(void);
/* ---- stop.c: signals, the time limit, checkpoints ---- */

/* From now on SIGINT, SIGTERM and SIGHUP ask the monitor to stop; a second one ends the program. */
void cli_interrupt_on(void);
bool cli_is_interrupted(void);
/* A tess_monitor that stops after a signal. */
int cli_interrupt_monitor(void *user, const tess_progress *progress);

typedef struct cli_stop_options {
    double time_limit;               /* seconds of the command; 0: none */
    const char *checkpoint, *resume; /* NULL: none */
    double every;                    /* seconds between checkpoints; 0: the default */
} cli_stop_options;
extern const struct argp cli_stop_argp; /* --time-limit --checkpoint --checkpoint-every --resume */

/* A run in pieces, with a checkpoint after each. */
typedef struct cli_session {
    const cli_stop_options *options;
    double start;          /* of the command, by cli_seconds */
    tess_checkpoint facts; /* what checkpoints say so far */
    int64_t before;        /* iterations, or steps, of the runs before this one */
    int failed;            /* an exit code: a checkpoint could not be written */
} cli_session;
/* Fingerprints of the matrix, of b (NULL: none) and of the options as text. Returns an exit code, message printed. */
int cli_session_begin(cli_session *session, const tess_matrix *a, const tess_vector *b, const char *options);
/* x of the checkpoint, which must be of the same system, and with `same_options` of the same options. */
int cli_resume(cli_session *session, tess_context *ctx, int64_t n, bool same_options, tess_vector **x);
double cli_seconds_left(const cli_session *session);  /* of the command; 0: no limit */
double cli_piece_seconds(const cli_session *session); /* the limit of the next piece; 0: none */
bool cli_goes_on(const cli_session *session, tess_reason reason);
/* Adds to the facts and writes a checkpoint, if one is asked for. */
void cli_session_save(cli_session *session, const tess_vector *x, int64_t iterations, double seconds);
void cli_session_add_json(json_t *root, const cli_session *session);

/* ---- estimate.c ---- */

/* `request` is a solver, perhaps with a preconditioner behind a comma; NULL: auto. Returns an exit code, message
 * printed. */
int cli_estimate_solve(const tess_matrix *a, const char *request, tess_solve_estimate *out);
void cli_print_estimate(const tess_solve_estimate *estimate);
json_t *cli_estimate_json(const tess_solve_estimate *estimate);

/* ---- pieces.c ---- */

typedef struct cli_solve_pieces {
    tess_solve_result result; /* of all pieces */
    double *history;          /* owned; NULL: the solver's */
    int64_t length;
    tess_status status; /* of the last call */
} cli_solve_pieces;
/* Whether the limit of time was too short for the set-up: the last error says more. */
bool cli_setup_timed_out(const tess_context *ctx, const tess_solve_result *result);
/* Returns an exit code, message printed but for TESS_SINGULAR. */
int cli_solve_in_pieces(tess_solver *solver, const tess_solve_options *asked, cli_session *session,
                        const tess_vector *b, tess_vector *x, cli_solve_pieces *all);

/* ---- product.c: products against an extended-precision reference ---- */

typedef struct cli_reference {
    int64_t nrows, longest_row;
    long double *y;         /* A x */
    long double *magnitude; /* |A| |x| */
} cli_reference;
typedef struct cli_error_norms {
    double componentwise; /* max |y - reference| / (|A| |x|) */
    double relative;      /* ||y - reference||_2 / ||reference||_2 */
} cli_error_norms;
int cli_reference_create(const tess_matrix *a, const tess_vector *x, cli_reference *out);
void cli_reference_free(cli_reference *reference);
int cli_reference_error(const cli_reference *reference, const tess_vector *y, cli_error_norms *out);

typedef struct cli_timing {
    int repeats;
    double median, fastest; /* seconds of one product */
    double bytes;           /* moved, by model */
} cli_timing;
/* y := A x with x and y in the order of the matrix. They are permuted to the order of the storage, and back, outside
   the measured time. */
int cli_time_product(const tess_matrix *a, tess_row_order order, const tess_vector *x, tess_vector *y, int repeats,
                     cli_timing *out);

/* ---- digits.c: significant digits of products ---- */

enum { CLI_EXACT_FP64, CLI_EXACT_EXTENDED, CLI_EXACT_COUNT };

typedef struct cli_digits_options {
    bool wanted, reference_given, leave_out[CLI_EXACT_COUNT];
} cli_digits_options;                     /* initially: only against the FP64 product */
extern const struct argp cli_digits_argp; /* --digits --reference; input: cli_digits_options */

/* The exact products that digits are counted against, on the host; NULL: not requested. */
typedef struct cli_exact {
    tess_vector *y[CLI_EXACT_COUNT];
} cli_exact;
typedef struct cli_digits {
    tess_digit_counts counts[CLI_EXACT_COUNT];
} cli_digits;
/* `reference` is that of a and x; it is rounded to FP64. Creates only what was requested. Free it after a failure too.
 */
int cli_exact_create(const tess_matrix *a, const tess_vector *x, const cli_reference *reference,
                     const cli_digits_options *options, cli_exact *out);
void cli_exact_free(cli_exact *exact);
int cli_count_digits(const cli_exact *exact, const tess_vector *y, cli_digits *out);
void cli_print_digits_head(int reference);
void cli_print_digits(const tess_digit_counts *counts);                    /* the rest of a line */
json_t *cli_digits_json(const cli_exact *exact, const cli_digits *digits); /* null where there is no reference */

/* ---- report.c ---- */

struct cli_column_list; /* columns.h */
typedef struct cli_solve_run {
    const cli_matrix *matrix;
    const tess_context *ctx;
    const tess_solve_options *options; /* with what the library chose */
    const tess_solve_options *asked;   /* the caller's */
    bool format_chosen;
    bool transformed; /* the matrix, b, x and the residuals are those of the transformed system */
    const tess_solver *solver;
    bool explain; /* print all attempts */
    const tess_solve_result *result;
    const tess_papers_result *papers;
    const cli_vector_choice *rhs;
    const char *initial_guess; /* NULL: zero */
    const cli_nullspace *nullspace;
    const cli_session *session;
    const cli_preset *preset;
    const struct cli_column_list *columns; /* of several right-hand sides */
    const tess_assignment_summary
        *assignment;               /* of the solved matrix; NULL: no policy, or one of a transformed matrix */
    const tess_findings *findings; /* after a failure; nrows 0: nothing was looked for */
    const char *detail;            /* of a failed set-up; may be empty */
    double output_seconds, total_seconds;
    int exit_code;
} cli_solve_run;
void cli_report_solve(const cli_solve_run *run, bool timings);
json_t *cli_solve_json(const cli_solve_run *run);
int cli_write_history(const char *path, const tess_solve_result *result);

/* ---- sweeps.c ---- */

/* Gives jacobi-sweeps the storage options that precede it, and refuses its own for another kind. */
void cli_settle_sweeps(struct argp_state *state, tess_precond_options *precond);
void cli_print_sweeps(const cli_solve_run *run);
/* Null for other preconditioners. */
json_t *cli_sweeps_json(const cli_solve_run *run);
void cli_add_sweeps_options_json(json_t *options, const tess_precond_options *precond);

/* ---- automatic.c ---- */

enum { CLI_PATH_LENGTH = 4096 };
/* The file of choices: the argument of --choices, or by default one in the user's cache folder, which is made; NULL:
   none. The default path is written to `buffer`. */
const char *cli_choices_path(const char *argument, char *buffer, size_t size);
/* What the library chose, and the line that asks for it by hand; nothing if the caller named the method. */
void cli_print_why(const cli_solve_run *run);
void cli_add_why_json(json_t *root, const cli_solve_run *run);

/* ---- accuracy.c ---- */

/* E, forward:E or backward:E. */
void cli_parse_accuracy(struct argp_state *state, const char *text, tess_accuracy_options *out);
/* The argument of --accuracy. */
const char *cli_accuracy_text(const tess_accuracy_options *options, char *buffer, size_t size);
void cli_print_accuracy(const cli_solve_run *run);
json_t *cli_accuracy_json(const cli_solve_run *run); /* null for other solves */
/* Whether the error that was asked for is known, and too large. */
bool cli_accuracy_missed(const cli_solve_run *run);

/* ---- findings.c: after a solve that failed ---- */

void cli_print_findings(const cli_solve_run *run);
json_t *cli_findings_json(const cli_solve_run *run); /* null after a solve that did not fail */
/* A command that has a chance where this one failed, written into `buffer`; NULL: there is none. */
const char *cli_next_command(const cli_solve_run *run, char *buffer, size_t size);

#endif
