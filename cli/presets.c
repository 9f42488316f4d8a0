/* SPDX-License-Identifier: Apache-2.0 */
/* Presets: the options of measurements of papers. */
#include "cli.h"

#include <string.h>

static const cli_preset presets[] = {
    {"yang",
     {"--solver=auto", "--precond=none", "--rhs=a-times-ones", "--rtol=1e-10", "--atol=0", "--max-iterations=1000",
      "--guard=report", NULL}},
    {"tezcan-jacobi",
     {"--solver=jacobi", "--scale=max-product", "--format=composite", "--steps=fp32,mixed,fp64",
      "--policy=mean-range:0.1", "--share=at-most-one", "--system=transformed", "--rhs=a-times-ramp", "--rtol=0",
      "--atol=0", "--max-iterations=2000", "--guard=report", NULL}},
    {"loe",
     {"--solver=gmres", "--rhs=ones", "--rtol=1e-10", "--atol=0", "--restart=50", "--orthogonalization=cgs2",
      "--max-iterations=100000", "--guard=report", NULL}},
};

const char *cli_presets_text(bool expanded, char *buffer, size_t size)
{
    const int count = (int)(sizeof presets / sizeof presets[0]);
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; i < count && used < size; i++) {
        const char *between = i == 0 ? "" : expanded ? "\n" : i == count - 1 ? " or " : ", ";
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", between, presets[i].name);
        for (int k = 0; expanded && presets[i].options[k] != NULL && used < size; k++) {
            used += (size_t)snprintf(buffer + used, size - used, "%s %s", k == 0 ? ":" : "", presets[i].options[k]);
        }
    }
    return buffer;
}

static bool is_option(const char *argument, const char *option)
{
    const size_t length = strlen(option);
    return strncmp(argument, "--", 2) == 0 && strncmp(argument + 2, option, length) == 0 &&
           (argument[2 + length] == '=' || argument[2 + length] == '\0');
}

const char *cli_preset_of(const char *option, int argc, char **argv)
{
    for (size_t p = 0; p < sizeof presets / sizeof presets[0]; p++) {
        int same = 0, last = 0;
        while (presets[p].options[same] != NULL && 1 + same < argc &&
               strcmp(presets[p].options[same], argv[1 + same]) == 0) {
            same++;
        }
        for (int i = 1; i < argc; i++) {
            if (is_option(argv[i], option)) { last = i; }
        }
        if (presets[p].options[same] == NULL && last > 0 && last <= same) { return presets[p].name; }
    }
    return NULL;
}

int cli_find_preset(const char *name, const cli_preset **out)
{
    const char *known[sizeof presets / sizeof presets[0]];
    int count = (int)(sizeof presets / sizeof presets[0]);
    for (int i = 0; i < count; i++) {
        known[i] = presets[i].name;
        if (strcmp(presets[i].name, name) == 0) {
            *out = &presets[i];
            return 0;
        }
    }
    const char *nearest = tess_nearest_word(name, known, count);
    if (nearest != NULL) {
        cli_error("unknown preset '%s'; did you mean '%s'?", name, nearest);
    } else {
        char list[128];
        cli_error("unknown preset '%s'; available: %s", name, cli_presets_text(false, list, sizeof list));
    }
    return CLI_USAGE;
}
