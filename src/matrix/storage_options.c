/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/storage_options.h"

#include <string.h>

#include "matrix/matrix.h"

static const double default_padding = 3.0;
enum { DEFAULT_WINDOW = 256 };

static const tess_papers_storage no_papers = {.size = sizeof no_papers};

void tess_storage_options_init_sized(tess_storage_options *options, size_t size)
{
    tess_storage_options o;

    memset(&o, 0, sizeof o);
    o.size = sizeof o;
    o.slices.max_padding = default_padding;
    o.slices.window = DEFAULT_WINDOW;
    tess_policy_options_init(&o.policy);
    options_init(options, size, &o, sizeof o);
}

void tess_papers_storage_init_sized(tess_papers_storage *papers, size_t size)
{
    options_init(papers, size, &no_papers, sizeof no_papers);
}

double storage_max_padding(const tess_storage_options *options)
{
    return options->slices.max_padding == 0.0 ? default_padding : options->slices.max_padding;
}

int64_t storage_window(const tess_storage_options *options)
{
    return options->slices.window == 0 ? DEFAULT_WINDOW : options->slices.window;
}

const tess_papers_storage *storage_papers(const tess_storage_options *options)
{
    return options->papers ? options->papers : &no_papers;
}

static tess_status check_names(tess_context *ctx, const tess_storage_options *o)
{
    tess_status status = TESS_SUCCESS;

    TESS_TRY(options_require_name(ctx, "tess_format", "tess_storage_options.format", (int)o->format));
    TESS_TRY(options_require_name(ctx, "tess_precision", "tess_storage_options.precision", (int)o->precision));
    TESS_TRY(options_require_name(ctx, "tess_arithmetic", "tess_storage_options.arithmetic", (int)o->arithmetic));
    TESS_TRY(
        options_require_name(ctx, "tess_granularity", "tess_policy_options.granularity", (int)o->policy.granularity));
    TESS_TRY(options_require_name(ctx, "tess_policy", "tess_policy_options.policy", (int)o->policy.policy));
    TESS_TRY(options_require_name(ctx, "tess_arithmetic", "tess_policy_options.arithmetic", (int)o->policy.arithmetic));
    TESS_TRY(options_require_name(ctx, "tess_format", "tess_split_options.base", (int)o->split.base));
    TESS_TRY(options_require_name(ctx, "tess_format", "tess_split_options.low_base", (int)o->split.low_base));
    TESS_TRY(options_require_name(ctx, "tess_row_order", "tess_split_options.row_order", (int)o->split.row_order));
    TESS_TRY(options_require_name(ctx, "tess_layout", "tess_papers_storage.layout", (int)storage_papers(o)->layout));
    TESS_TRY(options_require_name(ctx, "tess_kernel", "tess_papers_storage.kernel", (int)storage_papers(o)->kernel));
cleanup:
    return status;
}

tess_status storage_options_take_member(tess_context *ctx, tess_storage_options *options, tess_papers_storage *papers)
{
    tess_status status = TESS_SUCCESS;

    *papers = no_papers;
    TESS_TRY(options_require_member(ctx, "tess_storage_options", options->size, sizeof *options));
    TESS_TRY(options_require_reserved(ctx, "tess_storage_options", options->reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_slices_options", options->slices.reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_split_options", options->split.reserved));
    TESS_TRY(options_require_reserved(ctx, "tess_policy_options", options->policy.reserved));
    TESS_TRY(options_take(ctx, "tess_papers_storage", options->papers, papers, sizeof *papers));
    if (options->papers) { options->papers = papers; }
    status = check_names(ctx, options);
cleanup:
    return status;
}

tess_status storage_request_take(tess_context *ctx, const tess_storage_options *given, storage_request *out)
{
    tess_status status = TESS_SUCCESS;

    tess_storage_options_init(&out->options);
    TESS_TRY(options_take(ctx, "tess_storage_options", given, &out->options, sizeof out->options));
    status = storage_options_take_member(ctx, &out->options, &out->papers);
cleanup:
    return status;
}

void storage_request_set(storage_request *out, const tess_storage_options *options)
{
    out->options = *options;
    out->papers = *storage_papers(options);
    if (options->papers) { out->options.papers = &out->papers; }
}

void tess_matrix_keep_levels(tess_matrix *a)
{
    tess_host_release(a->ctx, a->asked, 1, sizeof *a->asked);
    a->asked = NULL;
}
