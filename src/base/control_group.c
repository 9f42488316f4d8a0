/* SPDX-License-Identifier: Apache-2.0 */
#include "base/control_group.h"

#include <stdio.h>
#include <string.h>

enum { PATH_LIMIT = 4096 };

bool control_group_read(const char *folder, const char *name, char first[32], char second[32])
{
    char path[PATH_LIMIT + 64];
    FILE *file = NULL;
    int found = 0;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "r");
    if (!file) { return false; }
    found = second ? fscanf(file, "%31s %31s", first, second) : fscanf(file, "%31s", first);
    fclose(file);
    return found == (second ? 2 : 1);
}

typedef struct search {
    const char *root, *controller;
    void (*visit)(const char *folder, void *user);
    void *user;
} search;

/* root/group and the folders above it. */
static void visit_path(const search *s, const char *root, const char *group)
{
    const size_t length = strlen(root);
    char folder[PATH_LIMIT];

    if ((size_t)snprintf(folder, sizeof folder, "%s%s", root, group) >= sizeof folder) { return; }
    for (;;) {
        char *slash = NULL;

        s->visit(folder, s->user);
        slash = strrchr(folder, '/');
        if (strlen(folder) <= length || !slash || (size_t)(slash - folder) < length) { return; }
        *slash = '\0';
    }
}

/* Whether a list such as "cpu,cpuacct" names the controller. */
static bool lists(const char *controllers, const char *controller)
{
    const size_t length = strlen(controller);
    const char *word = controllers;

    while (word) {
        if (strncmp(word, controller, length) == 0 && (word[length] == ',' || word[length] == '\0')) { return true; }
        word = strchr(word, ',');
        word = word ? word + 1 : NULL;
    }
    return false;
}

/* A line is NUMBER:CONTROLLERS:PATH; version 2 has no controllers. */
static void visit_line(const search *s, char *line)
{
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    char mount[PATH_LIMIT];

    if (!path) { return; }
    *path++ = '\0';
    controllers += 1;
    path[strcspn(path, "\n")] = '\0';
    if (*controllers == '\0') {
        visit_path(s, s->root, path);
        return;
    }
    if (!lists(controllers, s->controller)) { return; }
    /* Where cpu and cpuacct are mounted together, `cpu` is by custom a link to their folder. */
    if ((size_t)snprintf(mount, sizeof mount, "%s/%s", s->root, s->controller) < sizeof mount) {
        visit_path(s, mount, path);
    }
}

void control_group_visit(const char *membership, const char *root, const char *controller,
                         void (*visit)(const char *folder, void *user), void *user)
{
    const search s = {root, controller, visit, user};
    char line[PATH_LIMIT];
    FILE *file = fopen(membership, "r");

    if (!file) { return; }
    while (fgets(line, sizeof line, file)) {
        visit_line(&s, line);
    }
    fclose(file);
}
