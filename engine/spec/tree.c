/* tree.c - reads a YAML text into a tree of nodes with places. */
#include <string.h>
#include <yaml.h>

#include "tree.h"

typedef struct anchor {
    const char *name;
    /* NULL while the value of the anchor is being read; an alias inside that value is an error */
    kiln__spec_node *node;
    struct anchor *next;
} anchor;

/* A list or a mapping that is being read. */
typedef struct frame {
    kiln__spec_node *node;
    size_t capacity;
    kiln__spec_node *key; /* for a mapping: the key whose value comes next */
    anchor *anchor;
    bool flow;   /* true if the collection is written in [] or {} */
    size_t room; /* allocated bytes of the last item's text if parts were joined to this text; otherwise 0 */
} frame;

typedef struct builder {
    kiln__arena *arena;
    const kiln__source *source;
    kiln__diag *diag;
    bool ascii, failed;
    /* the start of line `line_number` (from 0) in the text; most places are asked for in ascending order */
    const char *line;
    size_t line_number;
    size_t nodes;
    anchor *anchors;
    size_t anchor_count;
    frame frames[KILN__TREE_DEPTH];
    size_t depth;
    kiln__spec_node *root;
} builder;

static kiln__pos find_position(builder *b, yaml_mark_t mark)
{
    kiln__pos pos = {b->source, (unsigned)mark.line + 1, (unsigned)mark.column + 1};
    if (b->ascii)
        return pos;
    /* Convert the place, because libyaml counts characters, but this file counts bytes. */
    const char *end = b->source->text + b->source->length;
    if (!b->line || mark.line < b->line_number) {
        b->line = b->source->text;
        b->line_number = 0;
    }
    for (; b->line_number < mark.line && b->line < end; b->line++)
        b->line_number += *b->line == '\n';
    const char *line = b->line, *at = line;
    for (size_t n = 0; n < mark.column && at < end; n++) {
        at++;
        while (at < end && ((unsigned char)*at & 0xc0) == 0x80)
            at++;
    }
    pos.column = (unsigned)(at - line) + 1;
    return pos;
}

static void fail(builder *b, kiln__pos pos, const char *text)
{
    kiln__diag_add(b->diag, pos, "%s", text);
    b->failed = true;
}

/* Appends a node to an array in the arena. If `count` has reached `capacity`, allocates twice the capacity, at least 4;
 * the caller updates its `capacity`. */
static bool append(builder *b, kiln__spec_node ***array, size_t count, size_t capacity, kiln__spec_node *node)
{
    if (count == capacity || !*array) {
        size_t wanted = capacity ? capacity * 2 : 4;
        kiln__spec_node **fresh = kiln__arena_alloc(b->arena, wanted * sizeof *fresh);
        if (!fresh)
            return false;
        if (*array)
            memcpy(fresh, *array, count * sizeof *fresh);
        *array = fresh;
    }
    (*array)[count] = node;
    return true;
}

static bool is_plain(const kiln__spec_node *node)
{
    return node->kind == KILN__SCALAR && !node->quoted && !node->anchored;
}

/* Inside [] and {} every comma is a separator in YAML. Therefore YAML splits `[ceil_div(N, 32), 1]` into "ceil_div(N",
 * "32)" and "1". If a plain text has an open parenthesis, the text is not complete, and the next text belongs to it. */
static bool is_open(const frame *top)
{
    const kiln__spec_node *last = top->flow && top->node->count ? top->node->items[top->node->count - 1] : NULL;
    if (!last || !is_plain(last))
        return false;
    long depth = 0;
    for (const char *c = last->text; *c; c++)
        depth += (*c == '(') - (*c == ')');
    return depth > 0;
}

static void join_texts(builder *b, frame *top, const kiln__spec_node *more)
{
    kiln__spec_node *last = top->node->items[top->node->count - 1];
    size_t length = last->length + 2 + more->length;
    if (length > 4096) {
        fail(b, last->pos, "a parenthesis is opened but not closed");
        return;
    }
    if (length + 1 > top->room) {
        char *text = kiln__arena_alloc(b->arena, 2 * (length + 1));
        if (!text) {
            b->failed = true;
            return;
        }
        memcpy(text, last->text, last->length);
        last->text = text;
        top->room = 2 * (length + 1);
    }
    char *text = (char *)(uintptr_t)last->text; /* the code above has allocated enough space */
    memcpy(text + last->length, ", ", 2);       /* ended by the next: NOLINT(bugprone-not-null-terminated-result) */
    memcpy(text + last->length + 2, more->text, more->length + 1);
    last->length = length;
}

/* Adds a node to the mapping of the frame `top`. Each key comes first, and the next node is its
 * value. The function joins texts that YAML split at a comma, see is_open(). The function reports keys that are not
 * scalars, merge keys, duplicate keys, and mappings with too many keys. */
static void add_to_map(builder *b, frame *top, kiln__spec_node *node)
{
    kiln__spec_node *map = top->node;
    if (!top->key) {
        if (node->kind != KILN__SCALAR) {
            fail(b, node->pos, "a key must be a plain word");
            return;
        }
        if (strcmp(node->text, "<<") == 0 && !node->quoted)
            fail(b, node->pos, "merge keys ('<<') are not supported: write the keys out");
        top->key = node;
        return;
    }
    if (is_plain(node) && node->length == 0 && is_plain(top->key) && is_open(top)) {
        join_texts(b, top, top->key);
        top->key = NULL;
        return;
    }
    top->room = 0;
    if (map->count == KILN__TREE_KEYS) {
        fail(b, top->key->pos, "a mapping of more than 4096 keys");
        return;
    }
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->keys[i]->text, top->key->text) == 0) {
            kiln__diag_add(b->diag, top->key->pos, "the mapping has the key '%s' twice; the first one is in line %u",
                           top->key->text, map->keys[i]->pos.line);
            top->key = NULL;
            return;
        }
    size_t capacity = top->capacity;
    if (!append(b, &map->keys, map->count, capacity, top->key) || !append(b, &map->items, map->count, capacity, node)) {
        b->failed = true;
        return;
    }
    if (map->count == capacity)
        top->capacity = capacity ? capacity * 2 : 4;
    map->count++;
    top->key = NULL;
}

/* Adds a finished node to the collection that contains it. */
static void add_to_parent(builder *b, kiln__spec_node *node)
{
    if (b->depth == 0) {
        b->root = node;
        return;
    }
    frame *top = &b->frames[b->depth - 1];
    /* libyaml reports the end of a collection only after its start, so a frame is open here.
     * NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    top->node->weight += node->weight;
    if (top->node->height <= node->height)
        top->node->height = node->height + 1;
    if (b->depth + node->height > KILN__TREE_DEPTH) {
        fail(b, node->pos, "nested more than 64 deep");
        return;
    }
    if (top->node->weight > KILN__TREE_NODES) {
        fail(b, node->pos, "a file of more than 200000 values (an alias counts as the values that it stands for)");
        return;
    }
    if (top->node->kind == KILN__MAP) {
        add_to_map(b, top, node);
        return;
    }
    if (is_plain(node) && is_open(top)) {
        join_texts(b, top, node);
        return;
    }
    top->room = 0;
    if (!append(b, &top->node->items, top->node->count, top->capacity, node)) {
        b->failed = true;
        return;
    }
    if (top->node->count == top->capacity)
        top->capacity = top->capacity ? top->capacity * 2 : 4;
    top->node->count++;
}

static anchor *declare(builder *b, const yaml_char_t *name, kiln__spec_node *node)
{
    if (!name)
        return NULL;
    if (++b->anchor_count > 1000) {
        fail(b, (kiln__pos){b->source, 1, 1}, "more than 1000 anchors");
        return NULL;
    }
    anchor *made = kiln__arena_alloc(b->arena, sizeof *made);
    char *copy = kiln__arena_strdup(b->arena, (const char *)name);
    if (!made || !copy) {
        b->failed = true;
        return NULL;
    }
    made->name = copy;
    made->node = node;
    made->next = b->anchors;
    b->anchors = made;
    return made;
}

static void add_alias(builder *b, const yaml_event_t *event)
{
    kiln__pos pos = find_position(b, event->start_mark);
    for (anchor *a = b->anchors; a; a = a->next)
        if (strcmp(a->name, (const char *)event->data.alias.anchor) == 0) {
            if (a->node)
                add_to_parent(b, a->node);
            else
                fail(b, pos, "an alias inside the value that it stands for");
            return;
        }
    kiln__diag_add(b->diag, pos, "there is no anchor '&%s' before this alias", (const char *)event->data.alias.anchor);
    b->failed = true;
}

static kiln__spec_node *make_node(builder *b, kiln__spec_node_kind kind, yaml_mark_t mark, const yaml_char_t *tag)
{
    kiln__pos pos = find_position(b, mark);
    if (++b->nodes > KILN__TREE_NODES)
        fail(b, pos, "a file of more than 200000 values");
    if (tag)
        kiln__diag_add(b->diag, pos, "tags such as '%s' are not supported", (const char *)tag);
    kiln__spec_node *node = b->failed ? NULL : kiln__arena_alloc(b->arena, sizeof *node);
    if (!node) {
        b->failed = true;
        return NULL;
    }
    node->kind = kind;
    node->pos = pos;
    node->weight = node->height = 1;
    return node;
}

static void add_scalar(builder *b, const yaml_event_t *event)
{
    kiln__spec_node *node = make_node(b, KILN__SCALAR, event->start_mark, event->data.scalar.tag);
    if (!node)
        return;
    node->length = event->data.scalar.length;
    if (memchr(event->data.scalar.value, '\0', node->length)) {
        fail(b, node->pos, "a text with a NUL character");
        return;
    }
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (event->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
        event->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE)
        node->pos.column++;
    node->text = kiln__arena_strndup(b->arena, (const char *)event->data.scalar.value, node->length);
    if (!node->text) {
        b->failed = true;
        return;
    }
    node->anchored = declare(b, event->data.scalar.anchor, node) != NULL;
    add_to_parent(b, node);
}

static void open_collection(builder *b, kiln__spec_node_kind kind, const yaml_event_t *event)
{
    bool list = kind == KILN__LIST;
    kiln__spec_node *node = make_node(b, kind, event->start_mark,
                                      list ? event->data.sequence_start.tag : event->data.mapping_start.tag);
    if (!node)
        return;
    if (b->depth == KILN__TREE_DEPTH) {
        fail(b, node->pos, "nested more than 64 deep");
        return;
    }
    frame *top = &b->frames[b->depth++];
    *top = (frame){.node = node};
    top->flow = list ? event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
                     : event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
    top->anchor = declare(b, list ? event->data.sequence_start.anchor : event->data.mapping_start.anchor, NULL);
}

static void close_collection(builder *b)
{
    frame *top = &b->frames[--b->depth];
    if (top->anchor)
        top->anchor->node = top->node;
    add_to_parent(b, top->node);
}

static void handle_event(builder *b, const yaml_event_t *event, unsigned *documents)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (++*documents > 1)
            fail(b, find_position(b, event->start_mark), "a second document ('---'): a file can contain only one spec");
        break;
    case YAML_ALIAS_EVENT: add_alias(b, event); break;
    case YAML_SCALAR_EVENT: add_scalar(b, event); break;
    case YAML_SEQUENCE_START_EVENT: open_collection(b, KILN__LIST, event); break;
    case YAML_MAPPING_START_EVENT: open_collection(b, KILN__MAP, event); break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: close_collection(b); break;
    default: break;
    }
}

static bool is_tab(const builder *b, kiln__pos pos)
{
    const char *at = b->source->text, *end = at + b->source->length;
    for (unsigned line = 1; line < pos.line && at < end; line++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : end;
    }
    return (size_t)(end - at) >= pos.column && at[pos.column - 1] == '\t';
}

/* Explains common mistakes in plain words, because libyaml's messages use the terms of its grammar. If the mistake is
 * not one of these, the function reports no error and returns false. */
static bool explain_yaml(builder *b, const yaml_parser_t *parser)
{
    const char *problem = parser->problem ? parser->problem : "";
    const kiln__pos at = find_position(b, parser->problem_mark), from = find_position(b, parser->context_mark);
    if (is_tab(b, at))
        return false;
    if (strstr(problem, "did not find expected key"))
        kiln__diag_add(
            b->diag, at,
            "not YAML: this line begins in column %u, and the mapping that it would continue begins in column %u "
            "of line %u: indent the keys of a mapping equally",
            at.column, from.column, from.line);
    else if (strstr(problem, "could not find expected ':'"))
        kiln__diag_add(b->diag, from,
                       "not YAML: write a key and its value as 'key: value', with a blank after the ':'");
    else if (strstr(problem, "did not find expected ','"))
        kiln__diag_add(b->diag, at,
                       "not YAML: a ',' is missing before this, or the '%s' that ends the value of line %u, column %u",
                       strstr(problem, "]") ? "]" : "}", from.line, from.column);
    else if (strstr(problem, "mapping values are not allowed"))
        kiln__diag_add(
            b->diag, at,
            "not YAML: a ':' inside of a value: write the value in quotes; write a condition as 'A if CONDITION else "
            "B'");
    else
        return false;
    return true;
}

static void broken_yaml(builder *b, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR) {
        b->arena->failed = true;
        return;
    }
    if (parser->error == YAML_READER_ERROR) { /* an error of this kind has a byte offset instead of a line */
        kiln__pos pos = {b->source, 1, 1};
        for (size_t i = 0; i < parser->problem_offset && i < b->source->length; i++) {
            pos.column++;
            if (b->source->text[i] == '\n') {
                pos.line++;
                pos.column = 1;
            }
        }
        kiln__diag_add(b->diag, pos, "not UTF-8 text: %s", parser->problem ? parser->problem : "unreadable");
        return;
    }
    if (explain_yaml(b, parser))
        return;
    if (is_tab(b, find_position(b, parser->problem_mark))) {
        kiln__diag_add(b->diag, find_position(b, parser->problem_mark),
                       "a tab: YAML is indented with spaces only, so write spaces here");
        return;
    }
    kiln__diag_add(b->diag, find_position(b, parser->problem_mark), "not YAML: %s%s%s",
                   parser->problem ? parser->problem : "unreadable", parser->context ? ", " : "",
                   parser->context ? parser->context : "");
}

/* The function feeds the text to libyaml and passes each event to handle_event(). It stops at the first syntax error,
 * or when handle_event() has reported that the depth or the number of nodes exceeds its limit. */
kiln__spec_node *kiln__tree_parse(kiln__arena *arena, const kiln__source *source, kiln__diag *diag)
{
    builder b = {.arena = arena, .source = source, .diag = diag, .ascii = true};
    for (size_t i = 0; i < source->length; i++)
        if ((unsigned char)source->text[i] >= 0x80)
            b.ascii = false;
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        arena->failed = true;
        return NULL;
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)source->text, source->length);
    unsigned documents = 0;
    for (bool more = true; more && !b.failed;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            broken_yaml(&b, &parser);
            b.failed = true;
            break;
        }
        more = event.type != YAML_STREAM_END_EVENT;
        handle_event(&b, &event, &documents);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if (b.failed)
        return NULL;
    if (!b.root)
        kiln__diag_add(diag, (kiln__pos){source, 1, 1}, "the file is empty");
    return b.root;
}

static size_t find(const kiln__spec_node *map, const char *key)
{
    size_t i = 0;
    while (i < map->count && strcmp(map->keys[i]->text, key) != 0)
        i++;
    return i;
}

kiln__spec_node *kiln__spec_node_get(const kiln__spec_node *map, const char *key)
{
    if (!map || map->kind != KILN__MAP)
        return NULL;
    size_t i = find(map, key);
    return i < map->count ? map->items[i] : NULL;
}

const kiln__spec_node *kiln__spec_node_key(const kiln__spec_node *map, const char *key)
{
    if (!map || map->kind != KILN__MAP)
        return NULL;
    size_t i = find(map, key);
    return i < map->count ? map->keys[i] : NULL;
}

const char *kiln__spec_node_text(const kiln__spec_node *node)
{
    const kiln__source *source = node->pos.source;
    const char *at = source ? source->text : NULL, *end = at ? at + source->length : NULL;
    for (unsigned line = 1; at && line < node->pos.line; line++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : NULL;
    }
    return at && node->pos.column >= 1 && (size_t)(end - at) >= node->pos.column ? at + node->pos.column - 1 : NULL;
}

const char *kiln__spec_node_describe(const kiln__spec_node *node)
{
    switch (node->kind) {
    case KILN__LIST: return "a list";
    case KILN__MAP: return "a mapping";
    case KILN__SCALAR: break;
    }
    return node->length == 0 && !node->quoted ? "nothing" : "a single value";
}
