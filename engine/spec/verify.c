/* verify.c - reads the key `verify`: the expected content of each output, and the allowed differences. */
#include <string.h>

#include "read.h"

static void read_against_variant(kiln__reader *r, const kiln__spec_node *node, kiln__verify *verify)
{
    const char *names[KILN__MOST_VARIANTS], *near;
    verify->name = kiln__read_text(r, node, "'variant'");
    if (!verify->name)
        return;
    verify->against = KILN__AGAINST_VARIANT;
    for (size_t i = 0; i < r->spec->variant_count; i++)
        if ((names[i] = r->spec->variants[i].name) && strcmp(names[i], verify->name) == 0)
            return;
    near = kiln__nearest(verify->name, names, r->spec->variant_count);
    kiln__diag_add(r->diag, node->pos,
                   near ? "there is no variant '%s'; did you mean '%s'?" : "there is no variant '%s'", verify->name,
                   near);
}

/* Returns true if the host function gets an argument of this name: a buffer, a size, an export of an input, or a name
 * that the verification gives. */
static bool is_given(const kiln__reader *r, const kiln__verify *verify, const char *name)
{
    const kiln__name *found = kiln__find_name(r, name);
    for (size_t i = 0; i < verify->arg_count; i++)
        if (strcmp(verify->args[i].name, name) == 0)
            return true;
    return found &&
           (found->kind == KILN__NAME_BUFFER || found->kind == KILN__NAME_SIZE || found->kind == KILN__NAME_INPUT);
}

static const char *first_buffer(const kiln__reader *r)
{
    for (size_t i = 0; i < r->name_count; i++)
        if (r->names[i].kind == KILN__NAME_BUFFER)
            return r->names[i].text;
    return "x";
}

/* Reports an error for each argument without a default that the host function does not get. Without this check every
 * configuration would compile and run before the function could report it. */
static void check_host_args(kiln__reader *r, const kiln__spec_node *host, const kiln__verify *verify)
{
    const char *takes = verify->name && r->hosts && r->hosts->takes ? r->hosts->takes(r->hosts->user, verify->name)
                                                                    : NULL;
    for (const char *at = takes; at && *at;) {
        const size_t length = strcspn(at, ", ");
        const char *name = *at == '[' ? NULL : kiln__arena_strndup(r->arena, at, length);
        if (name && kiln__name_valid(name) && !is_given(r, verify, name)) {
            const char *near = kiln__nearest_name(r, name, 1u << KILN__NAME_BUFFER | 1u << KILN__NAME_SIZE);
            const char *buffer = near ? near : first_buffer(r);
            kiln__diag_add(
                r->diag, host->pos,
                "the host function '%s' takes '%s', but the spec has no buffer or size of this name: write {host: %s, "
                "%s: %s} to pass another one, here '%s' ('kiln help hosts')",
                verify->name, name, verify->name, name, buffer, buffer);
        }
        at += length;
        at += strspn(at, ", ");
    }
}

/* Reads the keys that map the host function's names of buffers to the spec's names. */
static void read_against_host(kiln__reader *r, const kiln__spec_node *map, const kiln__spec_node *host,
                              kiln__verify *verify)
{
    verify->against = KILN__AGAINST_HOST;
    verify->name = kiln__read_host(r, host, "'host' of 'verify'", KILN_HOST_REFERENCE);
    verify->args = kiln__read_host_args(r, map, "host", KILN__ALL_INPUTS, true, &verify->arg_count);
    for (size_t i = 0; i < verify->arg_count; i++)
        if (kiln__varies(r, verify->args[i].expr))
            kiln__diag_add(
                r->diag, verify->args[i].pos,
                "an argument of the reference must be the same for all configurations, so it may use neither params "
                "nor properties of the device");
    check_host_args(r, host, verify);
}

static void read_against_params(kiln__reader *r, const kiln__spec_node *map, kiln__verify *verify)
{
    const kiln__variant *variant = kiln__spec_variant(r->spec, verify->name);
    verify->params = kiln__read_named(r, map, "'params'", 0, &verify->param_count);
    for (size_t i = 0; variant && i < verify->param_count; i++) {
        const char *names[KILN__MOST], *name = verify->params[i].name;
        size_t count = 0;
        for (size_t p = 0; p < variant->param_count && count < KILN__COUNT(names); p++)
            if (variant->params[p].name)
                names[count++] = variant->params[p].name;
        if (kiln__variant_param(variant, name))
            continue;
        const char *near = kiln__nearest(name, names, count);
        kiln__diag_add(r->diag, verify->params[i].pos,
                       near ? "variant '%s' has no param '%s'; did you mean '%s'?" : "variant '%s' has no param '%s'",
                       verify->name, name, near);
    }
}

/* Reads a command: a list of words, or one text that is split at its spaces. Quotes and all other characters have no
 * special meaning. */
static void read_against_command(kiln__reader *r, kiln__spec_node *node, kiln__verify *verify)
{
    kiln__spec_node *const *items;
    kiln__text shown = {.mem = r->diag->mem};
    size_t count = kiln__read_items(r, &node, "'command'", &items);
    size_t most = node->kind == KILN__SCALAR ? node->length / 2 + 1 : count;
    verify->against = KILN__AGAINST_COMMAND;
    verify->words = kiln__read_array(r, most, sizeof *verify->words);
    for (size_t i = 0; verify->words && i < count; i++) {
        const char *text = kiln__read_text(r, items[i], "a word of 'command'");
        for (const char *at = text; at && *at;) {
            size_t length = node->kind == KILN__SCALAR ? strcspn(at, " \t\n") : strlen(at);
            if (length)
                verify->words[verify->word_count++] = kiln__arena_strndup(r->arena, at, length);
            at += length;
            at += node->kind == KILN__SCALAR ? strspn(at, " \t\n") : 0;
        }
        kiln__text_printf(&shown, "%s%s", i ? " " : "", text ? text : "");
    }
    if (verify->words && verify->word_count == 0)
        kiln__diag_add(r->diag, node->pos, "'command' is empty: name a program");
    verify->name = kiln__arena_strdup(r->arena, kiln__text_get(&shown));
    r->arena->failed |= shown.failed;
    kiln__text_free(&shown);
}

static void read_against(kiln__reader *r, const kiln__spec_node *map, kiln__verify *verify)
{
    static const char *const keys[] = {"host", "variant", "params", "command", "file", NULL};
    if (map->kind == KILN__SCALAR && map->length > 0) { /* the source of the answer is given without its kind */
        const char *dot = strrchr(map->text, '.');
        bool variant = kiln__spec_variant(r->spec, map->text) != NULL, file = dot && strcmp(dot, ".npy") == 0,
             script = dot && strcmp(dot, ".py") == 0;
        kiln__diag_add(r->diag, map->pos, "'against' must tell what '%s' is: write {%s%s%s}", map->text,
                       variant  ? "variant: "
                       : file   ? "file: "
                       : script ? "command: [python3, "
                                : "host: ",
                       map->text, script ? "]" : "");
        return;
    }
    KILN__KEYS_against(KILN__NODE) if ((map->kind != KILN__MAP || !host_) &&
                                       !kiln__read_map_of(r, map, "'against'", keys)) return;
    (void)ARGUMENT_;
    if ((host_ != NULL) + (variant_ != NULL) + (file_ != NULL) + (command_ != NULL) != 1 ||
        (params_ && !variant_ && !host_)) {
        kiln__diag_add(r->diag, map->pos, "'against' must have one of the keys host, variant, command and file");
        return;
    }
    if (command_) {
        read_against_command(r, command_, verify);
    } else if (host_) {
        read_against_host(r, map, host_, verify);
    } else if (file_) {
        verify->against = KILN__AGAINST_FILE;
        verify->name = kiln__read_path(r, file_, "'file'", &verify->path);
    } else {
        read_against_variant(r, variant_, verify);
        if (params_ && verify->name)
            read_against_params(r, params_, verify);
    }
}

static kiln__expr *read_tolerance(kiln__reader *r, const kiln__spec_node *node, kiln__key key, kiln__pos pos)
{
    return node ? kiln__read_expr(r, node, kiln__keys[key].info.name, KILN__ALL_INPUTS)
                : kiln__expr_constant(r->arena, (kiln_value){.kind = KILN_FLOAT}, pos);
}

/* Reads the check of one output: `against`, and either `exact` or tolerances. `key` must be the name of a buffer with
 * `out: true`; otherwise the message suggests the nearest name. */
static void read_verify_one(kiln__reader *r, const kiln__spec_node *key, const kiln__spec_node *map,
                            const kiln__buffer *buffers, size_t buffer_count, kiln__verify *verify)
{
    KILN__KEYS_verification(KILN__NODE) const char *outs[KILN__MOST];
    size_t out_count = 0;
    bool found = false;
    verify->pos = key->pos;
    verify->buffer = kiln__arena_strdup(r->arena, key->text);
    for (size_t i = 0; i < buffer_count; i++)
        if (buffers[i].out) {
            outs[out_count++] = buffers[i].name;
            found = found || strcmp(buffers[i].name, key->text) == 0;
        }
    if (!found) {
        const char *near = kiln__nearest(key->text, outs, out_count);
        const kiln__name *known = kiln__find_name(r, key->text);
        kiln__diag_add(
            r->diag, key->pos,
            known && known->kind == KILN__NAME_BUFFER
                ? "the buffer '%s' is not an output: write 'out: true' in it, or name an output here"
            : near ? "there is no buffer '%s' with 'out: true'; did you mean '%s'?"
                   : "there is no buffer '%s' with 'out: true' in the spec: name an output here, or add the buffer",
            key->text, near);
    }
    if (map->kind == KILN__SCALAR && map->length > 0) {
        kiln__diag_add(
            r->diag, map->pos,
            "a verification must have the expected answer: write {against: {variant: NAME}, rtol: 1e-5}, or {host: "
            "NAME}, {file: NAME.npy} or {command: [...]} in place of {variant: NAME}");
        return;
    }
    if (!kiln__read_map(r, map, KILN__MAPPING_verification))
        return;
    if (kiln__read_key(r, map, KILN__KEY_verification_against))
        read_against(r, against_, verify);
    if (exact_ && kiln__read_bool(r, exact_, "'exact'", &verify->exact) && verify->exact && (rtol_ || atol_))
        kiln__diag_add(r->diag, exact_->pos, "'exact' allows no difference, so it excludes 'rtol' and 'atol'");
    if (sampled_ && kiln__read_bool(r, sampled_, "'sampled'", &verify->sampled) && verify->sampled &&
        verify->against != KILN__AGAINST_HOST)
        kiln__diag_add(
            r->diag, sampled_->pos,
            "'sampled' needs a host function as reference, because only a host function can leave out elements");
    verify->rtol = read_tolerance(r, rtol_, KILN__KEY_verification_rtol, key->pos);
    verify->atol = read_tolerance(r, atol_, KILN__KEY_verification_atol, key->pos);
}

void kiln__read_tolerances(kiln__reader *r, const kiln__spec_node *node, kiln__variant *variant)
{
    size_t count = node ? kiln__read_entries(r, node, "'tolerance'") : 0;
    variant->tolerances = count ? kiln__read_array(r, count, sizeof *variant->tolerances) : NULL;
    for (size_t i = 0; variant->tolerances && i < count; i++) {
        kiln__spec_node *map = node->items[i];
        KILN__KEYS_tolerance(KILN__NODE) kiln__tolerance *tolerance = &variant->tolerances[variant->tolerance_count++];
        tolerance->pos = node->keys[i]->pos;
        tolerance->buffer = kiln__arena_strdup(r->arena, node->keys[i]->text);
        if (!kiln__read_map(r, map, KILN__MAPPING_tolerance))
            continue;
        if (!rtol_ && !atol_)
            kiln__diag_add(r->diag, map->pos, "a tolerance needs 'rtol', 'atol' or both");
        tolerance->rtol = read_tolerance(r, rtol_, KILN__KEY_tolerance_rtol, tolerance->pos);
        tolerance->atol = read_tolerance(r, atol_, KILN__KEY_tolerance_atol, tolerance->pos);
    }
}

/* Checks that each tolerance of a variant belongs to an output that `verify` compares with tolerances. The tolerances
 * are read together with their variant, because they may use its params. Therefore this function checks them later,
 * after `verify` has been read.
 */
static void check_tolerances(kiln__reader *r, const kiln__variant *variant)
{
    const kiln_spec *spec = r->spec;
    for (size_t i = 0; i < variant->tolerance_count; i++) {
        const kiln__tolerance *tolerance = &variant->tolerances[i];
        const char *names[KILN__MOST], *near;
        const kiln__verify *verify = NULL;
        size_t known = 0;
        for (size_t k = 0; k < spec->verify_count && known < KILN__COUNT(names); k++) {
            if (spec->verify[k].buffer)
                names[known++] = spec->verify[k].buffer;
            if (tolerance->buffer && spec->verify[k].buffer && strcmp(tolerance->buffer, spec->verify[k].buffer) == 0)
                verify = &spec->verify[k];
        }
        if (verify && verify->exact)
            kiln__diag_add(r->diag, tolerance->pos,
                           "'verify' declares '%s' as 'exact', so a variant cannot have a tolerance for it",
                           tolerance->buffer);
        if (verify || !tolerance->buffer)
            continue;
        near = kiln__nearest(tolerance->buffer, names, known);
        kiln__diag_add(r->diag, tolerance->pos,
                       near ? "'verify' has no '%s'; did you mean '%s'?" : "'verify' has no '%s'", tolerance->buffer,
                       near);
    }
}

void kiln__read_verify(kiln__reader *r, const kiln__spec_node *map, const kiln__buffer *buffers, size_t buffer_count)
{
    kiln_spec *spec = r->spec;
    size_t count = kiln__read_entries(r, map, "'verify'");
    spec->verify = count ? kiln__read_array(r, count, sizeof *spec->verify) : NULL;
    for (size_t i = 0; spec->verify && i < count; i++)
        read_verify_one(r, map->keys[i], map->items[i], buffers, buffer_count, &spec->verify[spec->verify_count++]);
    for (size_t i = 0; i < spec->variant_count; i++)
        check_tolerances(r, &spec->variants[i]);
}
