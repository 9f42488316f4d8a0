/* SPDX-License-Identifier: Apache-2.0 */
/* Names of statuses, precisions, devices, matrices and how they are stored. */

#include <tessera/papers.h>
#include <tessera/tessera.h>

#include "registry/names.h"

const char *tess_status_name(tess_status status)
{
    return tess_name_of("tess_status", (int)status);
}

tess_status tess_status_parse(const char *name, tess_status *out)
{
    return tess_value_of("tess_status", name, out);
}

const char *tess_precision_name(tess_precision precision)
{
    return tess_name_of("tess_precision", (int)precision);
}

tess_status tess_precision_parse(const char *name, tess_precision *out)
{
    return tess_value_of("tess_precision", name, out);
}

const char *tess_arithmetic_name(tess_arithmetic arithmetic)
{
    return tess_name_of("tess_arithmetic", (int)arithmetic);
}

tess_status tess_arithmetic_parse(const char *name, tess_arithmetic *out)
{
    return tess_value_of("tess_arithmetic", name, out);
}

const char *tess_overflow_name(tess_overflow overflow)
{
    return tess_name_of("tess_overflow", (int)overflow);
}

tess_status tess_overflow_parse(const char *name, tess_overflow *out)
{
    return tess_value_of("tess_overflow", name, out);
}

const char *tess_device_name(tess_device device)
{
    return tess_name_of("tess_device", (int)device);
}

tess_status tess_device_parse(const char *name, tess_device *out)
{
    return tess_value_of("tess_device", name, out);
}

const char *tess_memory_name(tess_memory memory)
{
    return tess_name_of("tess_memory", (int)memory);
}

tess_status tess_memory_parse(const char *name, tess_memory *out)
{
    return tess_value_of("tess_memory", name, out);
}

const char *tess_ownership_name(tess_ownership ownership)
{
    return tess_name_of("tess_ownership", (int)ownership);
}

tess_status tess_ownership_parse(const char *name, tess_ownership *out)
{
    return tess_value_of("tess_ownership", name, out);
}

const char *tess_log_level_name(tess_log_level level)
{
    return tess_name_of("tess_log_level", (int)level);
}

tess_status tess_log_level_parse(const char *name, tess_log_level *out)
{
    return tess_value_of("tess_log_level", name, out);
}

const char *tess_operation_name(tess_operation operation)
{
    return tess_name_of("tess_operation", (int)operation);
}

tess_status tess_operation_parse(const char *name, tess_operation *out)
{
    return tess_value_of("tess_operation", name, out);
}

const char *tess_triangle_name(tess_triangle triangle)
{
    return tess_name_of("tess_triangle", (int)triangle);
}

tess_status tess_triangle_parse(const char *name, tess_triangle *out)
{
    return tess_value_of("tess_triangle", name, out);
}

const char *tess_unit_diagonal_name(tess_unit_diagonal diagonal)
{
    return tess_name_of("tess_unit_diagonal", (int)diagonal);
}

tess_status tess_unit_diagonal_parse(const char *name, tess_unit_diagonal *out)
{
    return tess_value_of("tess_unit_diagonal", name, out);
}

const char *tess_format_name(tess_format format)
{
    return tess_name_of("tess_format", (int)format);
}

tess_status tess_format_parse(const char *name, tess_format *out)
{
    return tess_value_of("tess_format", name, out);
}

const char *tess_row_order_name(tess_row_order order)
{
    return tess_name_of("tess_row_order", (int)order);
}

tess_status tess_row_order_parse(const char *name, tess_row_order *out)
{
    return tess_value_of("tess_row_order", name, out);
}

const char *tess_granularity_name(tess_granularity granularity)
{
    return tess_name_of("tess_granularity", (int)granularity);
}

tess_status tess_granularity_parse(const char *name, tess_granularity *out)
{
    return tess_value_of("tess_granularity", name, out);
}

const char *tess_policy_name(tess_policy policy)
{
    return tess_name_of("tess_policy", (int)policy);
}

tess_status tess_policy_parse(const char *name, tess_policy *out)
{
    return tess_value_of("tess_policy", name, out);
}

const char *tess_scaling_name(tess_scaling scaling)
{
    return tess_name_of("tess_scaling", (int)scaling);
}

tess_status tess_scaling_parse(const char *name, tess_scaling *out)
{
    return tess_value_of("tess_scaling", name, out);
}

const char *tess_reordering_name(tess_reordering reordering)
{
    return tess_name_of("tess_reordering", (int)reordering);
}

tess_status tess_reordering_parse(const char *name, tess_reordering *out)
{
    return tess_value_of("tess_reordering", name, out);
}

const char *tess_layout_name(tess_layout layout)
{
    return tess_name_of("tess_layout", (int)layout);
}

tess_status tess_layout_parse(const char *name, tess_layout *out)
{
    return tess_value_of("tess_layout", name, out);
}

const char *tess_kernel_name(tess_kernel kernel)
{
    return tess_name_of("tess_kernel", (int)kernel);
}

tess_status tess_kernel_parse(const char *name, tess_kernel *out)
{
    return tess_value_of("tess_kernel", name, out);
}

const char *tess_narrowing_name(tess_narrowing narrowing)
{
    return tess_name_of("tess_narrowing", (int)narrowing);
}

tess_status tess_narrowing_parse(const char *name, tess_narrowing *out)
{
    return tess_value_of("tess_narrowing", name, out);
}
