/* SPDX-License-Identifier: Apache-2.0 */
/* The structure of HDF5 files: superblock, headers of objects, groups; see hdf5_file.h. Data: hdf5_data.c. */
#include <string.h>

#include "io/hdf5_file.h"
#include "io/hdf5_parts.h"

enum { FIRST_STEPS = 4096, MOST_RATIO = 1032, SLACK = 1 << 16, SYMBOLS_DEEP = 16 };
enum {
    MSG_SPACE = 1,
    MSG_TYPE = 3,
    MSG_LINK = 6,
    MSG_LAYOUT = 8,
    MSG_FILTERS = 11,
    MSG_ATTRIBUTE = 12,
    MSG_MORE = 16,
    MSG_SYMBOLS = 17
};

tess_status h5_fail(const h5_file *f, const char *what)
{
    return tess_fail_at(f->b->ctx, TESS_PARSE, f->b->name, 0, "the file may be incomplete or damaged",
                        "the HDF5 file cannot be read: %s", what);
}

static tess_status refuse(const h5_file *f, const char *what)
{
    return tess_fail_at(f->b->ctx, TESS_UNSUPPORTED, f->b->name, 0,
                        "in Python: h5py.File('B.h5', 'w') writes the older layout, and f.copy('A', g) copies A into g",
                        "the HDF5 file has %s, which this library does not read", what);
}

tess_status h5_step(h5_file *f)
{
    return f->steps-- > 0 ? TESS_SUCCESS : h5_fail(f, "its parts lead back to each other");
}

const unsigned char *h5_bytes(const h5_file *f, uint64_t address, uint64_t count)
{
    const uint64_t size = (uint64_t)f->b->count;

    if (address > size - f->base || count > size - f->base - address) { return NULL; }
    return f->b->bytes + f->base + address;
}

uint64_t h5_integer(const unsigned char *p, int bytes)
{
    uint64_t value = 0;

    for (int i = bytes; i-- > 0;) {
        value = value << 8 | p[i];
    }
    return value;
}

uint64_t h5_take(h5_span *s, int bytes)
{
    if (s->left < bytes) {
        s->bad = true;
        s->left = 0;
        return 0;
    }
    const uint64_t value = h5_integer(s->p, bytes);
    s->p += bytes;
    s->left -= bytes;
    return value;
}

const unsigned char *h5_pass(h5_span *s, int64_t bytes)
{
    const unsigned char *p = s->p;

    if (bytes < 0 || s->left < bytes) {
        s->bad = true;
        s->left = 0;
        return p;
    }
    s->p += bytes;
    s->left -= bytes;
    return p;
}

/* ---- superblock ---- */

static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

/* Where the superblock is: at 0 or behind a user's block of 512 bytes and its doubles. -1: nowhere. */
int64_t h5_find_superblock(const unsigned char *bytes, int64_t count)
{
    for (int64_t at = 0; at + 8 <= count; at = at == 0 ? 512 : 2 * at) {
        if (memcmp(bytes + at, signature, 8) == 0) { return at; }
    }
    return -1;
}

/* Versions 0 and 1 name the root group by an entry of a symbol table, 2 and 3 by its address. */
tess_status h5_open(const blob *b, h5_file *f)
{
    const int64_t at = h5_find_superblock(b->bytes, b->count);

    *f = (h5_file){.b = b, .steps = FIRST_STEPS + b->count / 8};
    f->may_unpack = b->count < INT64_MAX / MOST_RATIO ? MOST_RATIO * b->count + SLACK : INT64_MAX;
    if (at < 0) { return h5_fail(f, "its superblock is not there"); }
    h5_span s = {b->bytes + at + 8, b->count - at - 8, false};
    const int version = (int)h5_take(&s, 1);
    if (version > 3) { return refuse(f, "a superblock of a later version"); }
    if (version < 2) { h5_pass(&s, 4); }
    f->offset_bytes = (int)h5_take(&s, 1);
    f->length_bytes = (int)h5_take(&s, 1);
    if (f->offset_bytes < 2 || f->offset_bytes > 8 || f->length_bytes < 2 || f->length_bytes > 8) {
        return h5_fail(f, "offsets and lengths have 2 to 8 bytes");
    }
    h5_pass(&s, version < 2 ? (version == 0 ? 9 : 13) : 1);
    (void)h5_take(&s, f->offset_bytes); /* the base: where the superblock is, whatever moved it */
    f->base = (uint64_t)at;
    if (version < 2) {
        h5_pass(&s, 3 * f->offset_bytes); /* free space, end, driver */
        h5_pass(&s, f->offset_bytes);     /* the name of the root */
    } else {
        h5_pass(&s, 2 * f->offset_bytes); /* extension, end */
    }
    f->root = h5_take(&s, f->offset_bytes);
    return s.bad ? h5_fail(f, "its superblock is incomplete") : TESS_SUCCESS;
}

/* ---- messages of a header ---- */

/* One message. */
typedef struct h5_message {
    int type;
    h5_span data;
} h5_message;

typedef tess_status (*message_taker)(void *user, h5_file *f, const h5_message *m);

enum { MOST_BLOCKS = 64 };

/* Stretches of a header that are still to be read. */
typedef struct header_blocks {
    uint64_t at[MOST_BLOCKS], length[MOST_BLOCKS];
    int count;
} header_blocks;

static tess_status add_block(const h5_file *f, header_blocks *blocks, h5_span s)
{
    const uint64_t at = h5_take(&s, f->offset_bytes), length = h5_take(&s, f->length_bytes);

    if (s.bad || blocks->count == MOST_BLOCKS) { return h5_fail(f, "the header of an object has no end"); }
    blocks->at[blocks->count] = at;
    blocks->length[blocks->count++] = length;
    return TESS_SUCCESS;
}

/* Messages of one stretch: of version 1 padded to 8 bytes, of version 2 packed, with a checksum at the end. */
static tess_status each_in_block(h5_file *f, h5_span s, int version, bool ordered, header_blocks *blocks,
                                 message_taker take, void *user)
{
    const int least = version == 1 ? 8 : ordered ? 6 : 4;
    tess_status status = TESS_SUCCESS;

    while (status == TESS_SUCCESS && s.left >= least) {
        h5_message m;

        status = h5_step(f);
        m.type = (int)h5_take(&s, version == 1 ? 2 : 1);
        const int64_t size = (int64_t)h5_take(&s, 2);
        (void)h5_take(&s, 1); /* flags */
        h5_pass(&s, version == 1 ? 3 : ordered ? 2 : 0);
        m.data = (h5_span){s.p, size, false};
        h5_pass(&s, size);
        if (status == TESS_SUCCESS && s.bad) { status = h5_fail(f, "a message is longer than its header"); }
        if (status != TESS_SUCCESS) { break; }
        status = m.type == MSG_MORE ? add_block(f, blocks, m.data) : take(user, f, &m);
    }
    return status;
}

static tess_status each_message(h5_file *f, uint64_t address, message_taker take, void *user)
{
    const unsigned char *head = h5_bytes(f, address, 16);
    header_blocks blocks = {.count = 0};
    bool ordered = false;
    int version = 1;
    h5_span s;

    if (!head) { return h5_fail(f, "the header of an object lies outside"); }
    s = (h5_span){head, f->b->count - (head - f->b->bytes), false};
    if (memcmp(head, "OHDR", 4) == 0) {
        version = 2;
        h5_pass(&s, 5);
        const int flags = (int)h5_take(&s, 1);
        ordered = (flags & 4) != 0;
        h5_pass(&s, ((flags & 0x20) ? 16 : 0) + ((flags & 0x10) ? 4 : 0));
        s.left = s.bad ? 0 : s.left;
        const uint64_t size = h5_take(&s, 1 << (flags & 3));
        if (s.bad || size > (uint64_t)s.left) { return h5_fail(f, "the header of an object is too long"); }
        s.left = (int64_t)size;
    } else if (head[0] == 1) {
        const uint64_t size = h5_integer(head + 8, 4);

        h5_pass(&s, 16);
        if (size > (uint64_t)s.left) { return h5_fail(f, "the header of an object is too long"); }
        s.left = (int64_t)size;
    } else {
        return h5_fail(f, "the header of an object has another version than 1 and 2");
    }
    tess_status status = each_in_block(f, s, version, ordered, &blocks, take, user);
    for (int i = 0; status == TESS_SUCCESS && i < blocks.count; i++) {
        const unsigned char *p = h5_bytes(f, blocks.at[i], blocks.length[i]);
        const int64_t mark = version == 2 ? 4 : 0; /* OCHK, and the checksum */

        if (!p || (int64_t)blocks.length[i] < 2 * mark) {
            return h5_fail(f, "the header of an object goes on outside");
        }
        s = (h5_span){p + mark, (int64_t)blocks.length[i] - 2 * mark, false};
        status = each_in_block(f, s, version, ordered, &blocks, take, user);
    }
    return status;
}

static tess_status take_space(const h5_file *f, h5_span s, h5_object *o)
{
    const int version = (int)h5_take(&s, 1);

    o->rank = (int)h5_take(&s, 1);
    h5_pass(&s, version == 1 ? 6 : 2);
    if (o->rank > H5_MOST_DIMENSIONS) {
        o->rank = -1;
        return TESS_SUCCESS;
    }
    for (int i = 0; i < o->rank; i++) {
        const uint64_t size = h5_take(&s, f->length_bytes);

        o->dims[i] = size > INT64_MAX ? INT64_MAX : (int64_t)size;
    }
    return s.bad ? h5_fail(f, "the sizes of a data set are incomplete") : TESS_SUCCESS;
}

static tess_status take_layout(const h5_file *f, h5_span s, h5_object *o)
{
    const int version = (int)h5_take(&s, 1);

    if (version < 3) { return TESS_SUCCESS; } /* older than any writer of today */
    const int kind = (int)h5_take(&s, 1);
    if (kind == 0) {
        o->data_bytes = (int64_t)h5_take(&s, 2);
        o->data = (uint64_t)(h5_pass(&s, o->data_bytes) - f->b->bytes) - f->base;
    } else if (kind == 1) {
        o->data = h5_take(&s, f->offset_bytes);
        o->data_bytes = (int64_t)h5_take(&s, f->length_bytes);
    } else if (kind == 2 && version == 3) {
        const int dimensions = (int)h5_take(&s, 1);

        o->data = h5_take(&s, f->offset_bytes);
        if (dimensions > H5_MOST_DIMENSIONS + 1) { return TESS_SUCCESS; }
        for (int i = 0; i < dimensions; i++) {
            o->chunk[i] = (int64_t)h5_take(&s, 4);
        }
    } else {
        return TESS_SUCCESS;
    }
    if (s.bad) { return h5_fail(f, "the place of a data set is incomplete"); }
    o->layout = kind;
    return TESS_SUCCESS;
}

static tess_status take_filters(const h5_file *f, h5_span s, h5_object *o)
{
    const int version = (int)h5_take(&s, 1);

    o->filters = (int)h5_take(&s, 1);
    if (version == 1) { h5_pass(&s, 6); }
    if (o->filters > H5_MOST_FILTERS) { return refuse(f, "more than four filters"); }
    for (int i = 0; i < o->filters; i++) {
        o->filter[i] = (int)h5_take(&s, 2);
        const bool named = version == 1 || o->filter[i] >= 256;
        const int64_t length = named ? (int64_t)h5_take(&s, 2) : 0;
        (void)h5_take(&s, 2); /* flags */
        const int64_t values = (int64_t)h5_take(&s, 2);
        h5_pass(&s, version == 1 ? (length + 7) / 8 * 8 : length);
        h5_pass(&s, 4 * (version == 1 ? values + values % 2 : values));
    }
    return s.bad ? h5_fail(f, "the filters of a data set are incomplete") : TESS_SUCCESS;
}

static tess_status take_message(void *user, h5_file *f, const h5_message *m)
{
    h5_object *o = user;
    h5_span s = m->data;

    switch (m->type) {
    case MSG_SPACE: return take_space(f, s, o);
    case MSG_TYPE: h5_parse_type(&s, &o->type); return TESS_SUCCESS;
    case MSG_LAYOUT: return take_layout(f, s, o);
    case MSG_FILTERS: return take_filters(f, s, o);
    case MSG_LINK: o->group = o->links = true; return TESS_SUCCESS;
    case MSG_SYMBOLS:
        o->group = true;
        o->tree = h5_take(&s, f->offset_bytes);
        o->heap = h5_take(&s, f->offset_bytes);
        return s.bad ? h5_fail(f, "the table of a group is incomplete") : TESS_SUCCESS;
    default: return TESS_SUCCESS;
    }
}

tess_status h5_object_at(h5_file *f, uint64_t address, h5_object *out)
{
    *out = (h5_object){.address = address, .layout = -1};
    return each_message(f, address, take_message, out);
}

/* ---- groups ---- */

typedef struct link_walk {
    h5_link_taker take;
    void *user;
    const unsigned char *names; /* of a symbol table */
    int64_t name_bytes;
} link_walk;

/* A hard link in the header of a group. */
static tess_status take_link(void *user, h5_file *f, const h5_message *m)
{
    const link_walk *w = user;
    h5_span s = m->data;

    if (m->type != MSG_LINK) { return TESS_SUCCESS; }
    (void)h5_take(&s, 1);
    const int flags = (int)h5_take(&s, 1);
    const int kind = (flags & 8) ? (int)h5_take(&s, 1) : 0;
    h5_pass(&s, ((flags & 4) ? 8 : 0) + ((flags & 16) ? 1 : 0));
    const uint64_t length = h5_take(&s, 1 << (flags & 3));
    if (s.bad || length > (uint64_t)s.left) { return h5_fail(f, "a link is incomplete"); }
    const char *name = (const char *)h5_pass(&s, (int64_t)length);
    const uint64_t address = h5_take(&s, f->offset_bytes);
    if (kind != 0) { return TESS_SUCCESS; } /* soft and external ones */
    return s.bad ? h5_fail(f, "a link is incomplete") : w->take(w->user, f, name, (size_t)length, address);
}

/* The entries of a node of symbols. */
static tess_status each_symbol(h5_file *f, uint64_t address, const link_walk *w)
{
    const unsigned char *p = h5_bytes(f, address, 8);
    tess_status status = h5_step(f);

    if (status != TESS_SUCCESS) { return status; }
    if (!p || memcmp(p, "SNOD", 4) != 0) { return h5_fail(f, "a node of a group lies outside or is none"); }
    h5_span s = {p + 8, f->b->count - (p + 8 - f->b->bytes), false};
    const int count = (int)h5_integer(p + 6, 2);
    for (int i = 0; i < count && status == TESS_SUCCESS; i++) {
        const uint64_t name = h5_take(&s, f->offset_bytes), header = h5_take(&s, f->offset_bytes);

        h5_pass(&s, 24);
        if (s.bad || name >= (uint64_t)w->name_bytes) {
            return h5_fail(f, "the name of a group's member lies outside");
        }
        const char *text = (const char *)w->names + name;
        status = h5_step(f);
        if (status == TESS_SUCCESS) {
            status = w->take(w->user, f, text, strnlen(text, (size_t)w->name_bytes - name), header);
        }
    }
    return status;
}

/* Leaves of the tree are nodes of symbols. */
static tess_status each_in_tree(h5_file *f, uint64_t address, int deepest, const link_walk *w)
{
    const unsigned char *p = h5_bytes(f, address, (uint64_t)(8 + 2 * f->offset_bytes));
    tess_status status = h5_step(f);

    if (status != TESS_SUCCESS) { return status; }
    if (!p || memcmp(p, "TREE", 4) != 0 || p[4] != 0 || p[5] > deepest) {
        return h5_fail(f, "the tree of a group lies outside or is none");
    }
    const int level = p[5], count = (int)h5_integer(p + 6, 2);
    h5_span s = {p + 8 + 2 * f->offset_bytes, f->b->count - (p - f->b->bytes) - 8 - 2 * f->offset_bytes, false};
    for (int i = 0; i < count && status == TESS_SUCCESS; i++) {
        h5_pass(&s, f->length_bytes); /* the key */
        const uint64_t child = h5_take(&s, f->offset_bytes);
        if (s.bad) { return h5_fail(f, "the tree of a group is incomplete"); }
        status = level > 0 ? each_in_tree(f, child, level - 1, w) : each_symbol(f, child, w);
    }
    return status;
}

tess_status h5_each_link(h5_file *f, const h5_object *group, h5_link_taker take, void *user)
{
    link_walk w = {.take = take, .user = user};

    if (group->links) { return each_message(f, group->address, take_link, &w); }
    if (!group->group) { return TESS_SUCCESS; }
    const unsigned char *p = h5_bytes(f, group->heap, (uint64_t)(8 + 2 * f->length_bytes + f->offset_bytes));
    if (!p || memcmp(p, "HEAP", 4) != 0) { return h5_fail(f, "the names of a group lie outside or are none"); }
    const uint64_t size = h5_integer(p + 8, f->length_bytes);
    w.names = h5_bytes(f, h5_integer(p + 8 + 2 * f->length_bytes, f->offset_bytes), size);
    w.name_bytes = (int64_t)size;
    if (!w.names) { return h5_fail(f, "the names of a group lie outside"); }
    return each_in_tree(f, group->tree, SYMBOLS_DEEP, &w);
}

typedef struct link_search {
    const char *name;
    uint64_t address;
    bool found;
} link_search;

static tess_status compare_name(void *user, h5_file *f, const char *name, size_t length, uint64_t address)
{
    link_search *search = user;

    (void)f;
    if (strlen(search->name) == length && memcmp(search->name, name, length) == 0) {
        search->found = true;
        search->address = address;
    }
    return TESS_SUCCESS;
}

tess_status h5_find(h5_file *f, const h5_object *group, const char *name, h5_object *out, bool *found)
{
    link_search search = {.name = name};
    const tess_status status = h5_each_link(f, group, compare_name, &search);

    *found = status == TESS_SUCCESS && search.found;
    return *found ? h5_object_at(f, search.address, out) : status;
}

/* ---- attributes ---- */

typedef struct attribute_search {
    const char *name;
    double value;
    bool found;
} attribute_search;

static tess_status take_attribute(void *user, h5_file *f, const h5_message *m)
{
    attribute_search *search = user;
    h5_span s = m->data;
    h5_type type;

    (void)f;
    if (m->type != MSG_ATTRIBUTE) { return TESS_SUCCESS; }
    const int version = (int)h5_take(&s, 1);
    (void)h5_take(&s, 1);
    const int64_t name_bytes = (int64_t)h5_take(&s, 2), type_bytes = (int64_t)h5_take(&s, 2);
    const int64_t space_bytes = (int64_t)h5_take(&s, 2), pad = version == 1 ? 7 : 0;
    if (version == 3) { (void)h5_take(&s, 1); }
    const char *name = (const char *)h5_pass(&s, (name_bytes + pad) & ~pad);
    h5_span type_span = {h5_pass(&s, (type_bytes + pad) & ~pad), type_bytes, false};
    h5_pass(&s, (space_bytes + pad) & ~pad);
    if (s.bad || strnlen(name, (size_t)name_bytes) != strlen(search->name) ||
        strncmp(name, search->name, (size_t)name_bytes) != 0) {
        return TESS_SUCCESS;
    }
    h5_parse_type(&type_span, &type);
    if (type.bytes == 0 || type.text || s.left < type.bytes) { return TESS_SUCCESS; }
    search->found = true;
    search->value = h5_value(&type, s.p, 0, 0);
    return TESS_SUCCESS;
}

tess_status h5_attribute(h5_file *f, const h5_object *o, const char *name, double *value, bool *found)
{
    attribute_search search = {.name = name};
    const tess_status status = each_message(f, o->address, take_attribute, &search);

    *value = search.value;
    *found = search.found;
    return status;
}
