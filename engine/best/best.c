/* best.c - finds the best known configuration for a problem. Lists the candidates, sorts them, and returns the first
 * valid candidate. The page README.md explains the order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "best.h"
#include "random.h"

const char *kiln_best_text(kiln_best_from from)
{
    static const char *const texts[] = {
#define KILN_X(name, text) text,
        KILN_BEST_MAP(KILN_X)
#undef KILN_X
    };
    return (unsigned)from < KILN_BEST_COUNT ? texts[from] : "";
}

/* ---- candidates ---- */

static bool differs_from_choice(const kiln_choice *choice, const kiln__known *known)
{
    for (size_t c = 0; c < choice->param_count; c++) {
        const kiln_setting *found = kiln__settings_find(known->params, choice->params[c].name);
        if (!found || !kiln__value_equal(found->value, choice->params[c].value))
            return true;
    }
    return choice->variant && strcmp(choice->variant, known->variant) != 0;
}

/* Returns whether the answer may be a configuration of a variant. A variant with `contender: false` may be in an answer
 * only if the caller named it. A variant that the spec no longer has is never in an answer. */
static bool may_answer(const kiln__best_search *s, const char *variant)
{
    const kiln__variant *found = kiln__spec_variant(s->spec, variant);
    return found && (found->contender || s->choice->variant);
}

/* Returns the number of a configuration in the space of its variant. The values of the last param change fastest.
 * kiln_tune() ranks equal samples in this order. Returns UINT64_MAX if the number is too large, or if the spec does not
 * have a value. */
static uint64_t find_place(const kiln__variant *variant, kiln__settings params)
{
    uint64_t place = 0;
    for (size_t p = 0; p < variant->param_count; p++) {
        const kiln__param *param = &variant->params[p];
        const kiln_setting *found = kiln__settings_find(params, param->name);
        size_t at = found ? 0 : param->initial;
        while (found && at < param->count && !kiln__value_equal(found->value, param->values[at]))
            at++;
        if (at == param->count || __builtin_mul_overflow(place, param->count, &place) ||
            __builtin_add_overflow(place, at, &place))
            return UINT64_MAX;
    }
    return place;
}

static void list_candidates(kiln__best_search *s)
{
    const kiln_device_info *info = &s->engine->info;
    int cc = 10 * info->cc_major + info->cc_minor;
    for (size_t i = 0; i < s->list.count; i++) {
        const kiln__known *known = &s->list.items[i];
        kiln__candidate *candidate = &s->items[s->count];
        bool same;
        if (differs_from_choice(s->choice, known) || !may_answer(s, known->variant) ||
            !kiln__size_distance(s->asked->sizes, known->sizes, &candidate->distance, &same))
            continue;
        bool here = strcmp(known->device, info->name) == 0 && kiln__capability(known->cc) == cc;
        const kiln__variant *variant = kiln__spec_variant(s->spec, known->variant);
        candidate->known = known;
        candidate->variant = (size_t)(variant - s->spec->variants);
        candidate->place = find_place(variant, known->params);
        candidate->device_distance = here ? 0 : kiln__capability_distance(cc, kiln__capability(known->cc));
        candidate->from = !here ? KILN_BEST_OTHER_DEVICE : same ? KILN_BEST_EXACT : KILN_BEST_NEAREST;
        s->count++;
    }
}

static int compare_numbers(double a, double b) { return (a > b) - (a < b); }

/* Returns the rank of a candidate's kind. The order is the order in README.md: these sizes on this device, similar
 * inputs, these sizes on another device of the same compute capability, near sizes, all other devices. */
static int rank_kind(const kiln__candidate *candidate)
{
    const bool alike = candidate->device_distance == 0 && candidate->distance == 0;
    return candidate->from == KILN_BEST_EXACT     ? 0
           : candidate->from == KILN_BEST_SIMILAR ? 1
           : candidate->from == KILN_BEST_NEAREST ? 3
           : alike                                ? 2
                                                  : 4;
}

static int compare_nearness(const void *left, const void *right)
{
    const kiln__candidate *a = left, *b = right;
    int order = rank_kind(a) - rank_kind(b);
    order = order ? order : a->device_distance - b->device_distance;
    order = order ? order : (b->inputs > 0) - (a->inputs > 0);
    order = order ? order : compare_numbers(a->rank, b->rank);
    order = order ? order : compare_numbers(a->distance, b->distance);
    order = order ? order : (int)a->known->how - (int)b->known->how;
    order = order ? order : strcmp(a->known->device, b->known->device);
    order = order ? order : strcmp(a->known->sizes_text, b->known->sizes_text);
    order = order ? order : compare_numbers(a->known->seconds, b->known->seconds);
    order = order ? order : (a->variant > b->variant) - (a->variant < b->variant);
    order = order ? order : (a->place > b->place) - (a->place < b->place);
    return order ? order : strcmp(a->known->params_text, b->known->params_text);
}

/* Lists the samples of the store and the known configurations for the spec. If the caller gives no known
 * configurations, the function reads the file beside the spec. If a configuration occurs several times, its latest
 * sample counts. */
static kiln_status gather_known(kiln__best_search *s, const kiln_best_options *options, kiln_error **error)
{
    const kiln_knowledge *knowledge = options->knowledge;
    kiln_store_filter filter = {.size = sizeof filter, .spec = s->spec->name, .path = s->spec->path};
    kiln_status status = KILN_OK;
    if (options->store)
        status = kiln__known_collect(options->store, &filter, &s->list, error);
    for (size_t i = 0; status == KILN_OK && knowledge && i < knowledge->list.count; i++)
        if (strcmp(knowledge->list.items[i].spec, s->spec->name) == 0 &&
            !kiln__known_add(&s->list, &knowledge->list.items[i]))
            status = kiln__fail_memory(error);
    if (status == KILN_OK && !knowledge)
        status = kiln__shipped_read(s->engine, s->spec, &s->list, error);
    kiln__known_deduplicate(&s->list);
    return status;
}

kiln_status kiln__best_take(const kiln_engine *engine, const char *function, const kiln_best_options *given,
                            kiln_best_options *options, kiln_error **error)
{
    const kiln_allocator *mem = engine->mem;
    KILN__TRY(kiln__take_struct(mem, error, function, "options", given, options, sizeof *options));
    /* kiln_tune() checks these options too, but this check reports an error before a sweep begins */
    kiln_run_options run;
    KILN__TRY(kiln__take_run(mem, error, function, "options.run", options->run, &run));
    if ((unsigned)options->isolation > KILN_ISOLATE_ALWAYS)
        return kiln__fail_enum(mem, error, function, "options.isolation", (unsigned)options->isolation,
                               KILN_ISOLATE_ALWAYS + 1);
    return options->tune_seconds >= 0
               ? KILN_OK
               : kiln__fail_number(mem, error, function, "options.tune_seconds", options->tune_seconds);
}

/* Returns whether features are needed. Features are needed if no candidate has exactly these sizes, and a verified
 * candidate has features. This saves time, because the features of the requested input can be computed only by making
 * its inputs. */
static bool needs_features(const kiln__best_search *s)
{
    bool any = false;
    for (size_t i = 0; i < s->count && s->spec->feature_count; i++) {
        if (s->items[i].from == KILN_BEST_EXACT)
            return false;
        any = any || (s->items[i].known->features.count && s->items[i].known->verified);
    }
    return any;
}

static kiln_status find_features(kiln__best_search *s, kiln_error **error)
{
    kiln_error *why = NULL;
    kiln_status status = kiln__features_of(s->engine, s->spec, s->choice, &s->arena, &s->features, &why);
    if (status != KILN_OK && status != KILN_ERROR_MEMORY)
        kiln__logf(&s->engine->log, KILN_LOG_WARNING,
                   "%s: the features of the input are not known, so Kiln chooses by the sizes alone: %s", s->spec->name,
                   kiln_error_message(why));
    kiln_error_free(why);
    return status == KILN_ERROR_MEMORY ? kiln__fail_memory(error) : KILN_OK;
}

/* Prepares a search: the requested sizes, the candidates, the features if they are needed, and the order of the
 * candidates. */
kiln_status kiln__best_open(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                            const kiln_best_options *options, kiln__best_search *s, kiln_error **error)
{
    static const kiln_choice nothing = {0};
    *s = (kiln__best_search){.engine = engine,
                             .spec = spec,
                             .choice = choice ? choice : &nothing,
                             .list.arena.mem = engine->mem,
                             .arena.mem = engine->mem};
    /* if the caller named no variant, the params may belong to any variant, so this function does not check them */
    kiln_choice sizes = *s->choice;
    sizes.param_count = sizes.variant ? sizes.param_count : 0;
    kiln_status status = kiln__config_open(engine, spec, &sizes, &s->asked, error);
    if (status == KILN_OK)
        status = gather_known(s, options, error);
    if (status == KILN_OK && !(s->items = kiln__calloc(engine->mem, s->list.count + 1, sizeof *s->items)))
        status = kiln__fail_memory(error);
    if (status != KILN_OK) {
        kiln__best_close(s);
        return status;
    }
    list_candidates(s);
    if (needs_features(s))
        status = find_features(s, error);
    if (status == KILN_OK && s->features.count && !kiln__best_similar(s))
        status = kiln__fail_memory(error);
    if (status != KILN_OK) {
        kiln__best_close(s);
        return status;
    }
    if (s->count)
        qsort(s->items, s->count, sizeof *s->items, compare_nearness);
    return KILN_OK;
}

void kiln__best_close(kiln__best_search *s)
{
    kiln__config_free(s->asked);
    kiln__free(s->engine->mem, s->items);
    kiln__known_free(&s->list);
    kiln__arena_free(&s->arena);
    kiln_error_free(s->cut);
    s->cut = NULL;
    s->asked = NULL;
    s->items = NULL;
}

/* ---- answers ---- */

/* An answer in the form in which it is allocated. The public part comes first, and then the memory of its texts. */
typedef struct answer {
    kiln_best best; /* must be the first member, because the caller's pointer leads back to this struct */
    kiln_allocator mem_copy;
    kiln__arena arena;
} answer;

static answer *new_answer(const kiln_engine *engine)
{
    answer *made = kiln__calloc(engine->mem, 1, sizeof *made);
    if (!made)
        return NULL;
    if (engine->mem) {
        made->mem_copy = *engine->mem;
        made->arena.mem = &made->mem_copy;
    }
    made->best.variant = made->best.device = made->best.cc = "";
    return made;
}

void kiln_best_free(kiln_best *best)
{
    if (!best)
        return;
    answer *a = (answer *)(void *)best;
    kiln_allocator copy = a->mem_copy;
    const kiln_allocator *mem = a->arena.mem ? &copy : NULL;
    kiln__arena_free(&a->arena);
    kiln__free(mem, a);
}

/* Makes an answer with a complete configuration. `candidate` is NULL if the configuration comes from no sample.
 */
static kiln_status make_answer(const kiln__best_search *s, const kiln__config *config, const kiln__candidate *candidate,
                               kiln_best **best, kiln_error **error)
{
    answer *made = new_answer(s->engine);
    if (!made)
        return kiln__fail_memory(error);
    kiln_best *b = &made->best;
    b->from = candidate ? candidate->from : KILN_BEST_DEFAULT;
    b->variant = kiln__arena_strdup(&made->arena, config->variant->name);
    kiln__settings params = kiln__settings_copy(&made->arena, config->params);
    kiln__settings sizes = kiln__settings_copy(&made->arena, config->sizes);
    b->params = params.items;
    b->param_count = params.count;
    b->size_set = config->size_set;
    b->sizes = sizes.items;
    b->size_count = sizes.count;
    if (candidate) {
        const kiln__known *known = candidate->known;
        kiln__settings known_sizes = kiln__settings_copy(&made->arena, known->sizes);
        b->known_sizes = known_sizes.items;
        b->known_size_count = known_sizes.count;
        b->device = kiln__arena_strdup(&made->arena, known->device);
        b->cc = kiln__arena_strdup(&made->arena, known->cc);
        b->distance = candidate->distance;
        b->near_inputs = candidate->inputs;
        b->slowdown = candidate->slowdown;
        if (candidate->inputs) {
            kiln__settings features = kiln__settings_copy(&made->arena, s->features);
            kiln__settings known_features = kiln__settings_copy(&made->arena, known->features);
            b->features = features.items;
            b->feature_count = features.count;
            b->known_features = known_features.items;
            b->known_feature_count = known_features.count;
        }
        b->seconds = known->seconds;
        b->measured = known->how == KILN__MEASURED;
        b->estimated = known->how == KILN__ESTIMATED;
        b->verified = known->verified;
        b->made = known->made;
        b->inputs_seconds = known->inputs_seconds;
        b->copy_seconds = known->copy_seconds;
        b->input_functions = kiln__arena_strdup(&made->arena, known->input_functions ? known->input_functions : "");
    }
    if (made->arena.failed) {
        kiln_best_free(b);
        return kiln__fail_memory(error);
    }
    *best = b;
    return KILN_OK;
}

/* Makes the configuration of a candidate in the present spec. *config stays NULL if the configuration is not valid in
 * the present spec. */
static kiln_status validate_candidate(const kiln__best_search *s, const char *variant, kiln__settings params,
                                      kiln__config **config, kiln_error **error)
{
    kiln_choice choice = {.variant = variant,
                          .params = params.items,
                          .param_count = params.count,
                          .size_set = s->choice->size_set,
                          .sizes = s->choice->sizes,
                          .size_count = s->choice->size_count};
    kiln_error *why = NULL;
    kiln_status status = kiln__config_make(s->engine, s->spec, &choice, config, &why);
    kiln_error_free(why);
    return status == KILN_ERROR_MEMORY ? kiln__fail_memory(error) : KILN_OK;
}

/* ---- answers with the defaults ---- */

/* The limits of the search for one valid configuration. The limit in units of kiln__effort gives the same answer on
 * every machine. A search reaches the limit in seconds only on a slow machine. Each limit applies twice. It first
 * applies to a walk through the space in order, where a good configuration is more likely, and then to random draws. */
#define LOOK_UNITS ((uint64_t)1 << 26)
#define LOOK_SECONDS 2.0

static uint64_t draw_number(void *user, uint64_t bound) { return kiln__random_below(user, bound); }

/* Looks for one valid configuration of a variant. *found is false if there is no valid configuration, or if the search
 * did not find one within the limits. The caller provides an array `settings` of param_count elements. */
static kiln_status find_valid(kiln__best_search *s, const kiln__variant *variant, const kiln__space *space,
                              kiln_setting *settings, bool *found, kiln_error **error)
{
    uint64_t start = kiln__now_ns(), most = (uint64_t)(LOOK_SECONDS * 1e9);
    kiln__effort walking = {.most = LOOK_UNITS, .deadline = start + most};
    kiln__walk *walk = NULL;
    kiln__sampler *sampler = NULL;
    const kiln_setting *at = NULL;
    uint32_t *positions = NULL;
    *found = false;
    kiln_status status = kiln__walk_open(space, &walk, error);
    if (status == KILN_OK) {
        kiln__walk_limit(walk, &walking);
        status = kiln__walk_next(walk, &at, error);
    }
    if (status == KILN_OK && at)
        memcpy(settings, at, variant->param_count * sizeof *settings);
    *found = status == KILN_OK && at;
    kiln__walk_free(walk);
    if (status != KILN_OK || *found || !walking.over)
        return status;
    kiln__effort drawing = {.most = LOOK_UNITS, .deadline = kiln__now_ns() + most};
    kiln__random random = {.state = 0};
    status = kiln__sampler_open(space, &sampler, error);
    positions = status == KILN_OK ? kiln__calloc(s->engine->mem, variant->param_count + 1, sizeof *positions) : NULL;
    if (status == KILN_OK && !positions)
        status = kiln__fail_memory(error);
    if (status == KILN_OK)
        status = kiln__sampler_draw(sampler, draw_number, &random, &drawing, positions, found, error);
    for (size_t i = 0; status == KILN_OK && *found && i < variant->param_count; i++) {
        const kiln_value *values;
        kiln__space_values(space, i, &values);
        settings[i] = (kiln_setting){variant->params[i].name, values[positions[i]]};
    }
    if (status == KILN_OK && !*found && !kiln__sampler_none(sampler) && !s->cut)
        kiln__space_none_found(space, kiln__sampler_tally(sampler), kiln__seconds_since(start), &s->cut);
    kiln__free(s->engine->mem, positions);
    kiln__sampler_free(sampler);
    return status;
}

/* Finds the first configuration of a variant that satisfies the constraints and has the params that the caller
 * chose. */
static kiln_status find_first_valid(kiln__best_search *s, const kiln__variant *variant, kiln__config **config,
                                    kiln_error **error)
{
    kiln_choice choice = *s->choice;
    choice.variant = variant->name;
    kiln__config *open = NULL;
    kiln__space *space = NULL;
    bool found = false;
    kiln_error *why = NULL;
    kiln_status status = kiln__config_open(s->engine, s->spec, &choice, &open, &why);
    kiln_setting *fixed = kiln__calloc(s->engine->mem, choice.param_count + 1, sizeof *fixed);
    kiln_setting *settings = kiln__calloc(s->engine->mem, variant->param_count + 1, sizeof *settings);
    size_t count = 0;
    if (!fixed || !settings)
        status = KILN_ERROR_MEMORY;
    /* takes the values from `open`, because its values have been checked against the spec */
    for (size_t p = 0; status == KILN_OK && p < variant->param_count; p++)
        if (kiln__settings_find(KILN__PARAMS(&choice), variant->params[p].name))
            fixed[count++] = open->params.items[p];
    if (status == KILN_OK)
        status = kiln__space_open(s->engine->mem, variant, &open->scopes[1], (kiln__settings){count, fixed}, &space,
                                  &why);
    if (status == KILN_OK)
        status = find_valid(s, variant, space, settings, &found, &why);
    if (status == KILN_OK && found)
        status = validate_candidate(s, variant->name, (kiln__settings){variant->param_count, settings}, config, error);
    else if (status == KILN_ERROR_MEMORY)
        kiln__fail_memory(error);
    else
        status = KILN_OK; /* another variant may have a valid configuration */
    kiln_error_free(why);
    kiln__space_free(space);
    kiln__config_free(open);
    kiln__free(s->engine->mem, fixed);
    kiln__free(s->engine->mem, settings);
    return status;
}

/* Answers with the defaults, if nothing is known about the problem. If the defaults break a constraint, answers with
 * the first valid configuration of a variant that may be in an answer. */
static kiln_status answer_defaults(kiln__best_search *s, kiln_best **best, kiln_error **error)
{
    kiln__config *config = NULL;
    kiln_error *why = NULL;
    kiln_status status = kiln__config_make(s->engine, s->spec, s->choice, &config, &why);
    if (status == KILN_ERROR_CONSTRAINT || (status == KILN_ERROR_NOT_FOUND && !s->choice->variant)) {
        status = KILN_OK;
        for (size_t v = 0; v < s->spec->variant_count && !config && status == KILN_OK; v++)
            if (s->choice->variant ? strcmp(s->choice->variant, s->spec->variants[v].name) == 0
                                   : may_answer(s, s->spec->variants[v].name))
                status = find_first_valid(s, &s->spec->variants[v], &config, error);
        if (status != KILN_OK) {
            kiln_error_free(why);
            return status;
        }
    }
    if (config) {
        kiln_error_free(why);
        status = make_answer(s, config, NULL, best, error);
        kiln__config_free(config);
        return status;
    }
    /* the search for a valid configuration was cut off, which is more precise than "the defaults are not valid" */
    if (s->cut) {
        kiln_error_free(why);
        why = s->cut;
        s->cut = NULL;
    }
    status = kiln_error_status(why);
    if (error && !*error)
        *error = why;
    else
        kiln_error_free(why);
    return status;
}

/* ---- finding changes of the code ---- */

/* Sets *changed if the present code of a configuration differs from the code of its sample. The function compiles
 * nothing. It compares the hash of source, headers, options and compiler. If a hash is not known, for example because
 * the source is missing, *changed keeps its value. Opening a plan then tells the reason. */
static kiln_status compare_code(const kiln__best_search *s, const kiln__config *config, const kiln__known *known,
                                int *changed, kiln_error **error)
{
    kiln__code_job *job = NULL;
    if (!known->code || !*known->code)
        return KILN_OK;
    kiln_error *why = NULL;
    kiln_status status = kiln__code_prepare(s->engine, config, NULL, s->engine->want_cubin, &job, &why);
    kiln_error_free(why);
    if (status == KILN_OK) {
        char code[33];
        kiln__hash_print(kiln__code_key(job), code);
        *changed = strcmp(code, known->code) != 0;
        kiln__code_cancel(job);
    }
    return status == KILN_ERROR_MEMORY ? kiln__fail_memory(error) : KILN_OK;
}

/* ---- functions for the public interface ---- */

kiln_status kiln__best_next(kiln__best_search *s, kiln_best **best, kiln_error **error)
{
    *best = NULL;
    while (s->at < s->count) {
        const kiln__candidate *candidate = &s->items[s->at++];
        const kiln__known *known = candidate->known;
        kiln__config *config = NULL;
        kiln_status status = validate_candidate(s, known->variant, known->params, &config, error);
        if (status == KILN_OK && config)
            status = make_answer(s, config, candidate, best, error);
        if (status == KILN_OK && *best && s->compares && candidate->from == KILN_BEST_EXACT) {
            status = compare_code(s, config, known, &(*best)->code_changed, error);
            if (status != KILN_OK) {
                kiln_best_free(*best);
                *best = NULL;
            }
        }
        kiln__config_free(config);
        if (status != KILN_OK || *best)
            return status;
    }
    if (s->ended)
        return KILN_OK;
    s->ended = true;
    return answer_defaults(s, best, error);
}

kiln_status kiln__best_of_sample(kiln__best_search *s, const kiln_sample *sample, kiln_best **best, kiln_error **error)
{
    const kiln_device_info *info = &s->engine->info;
    kiln__config *config = NULL;
    kiln__text cc = {.mem = s->engine->mem};
    kiln__text_printf(&cc, "%d.%d", info->cc_major, info->cc_minor);
    kiln__known known = {.device = info->name,
                         .cc = kiln__text_get(&cc),
                         .sizes = s->asked->sizes,
                         .seconds = kiln__result_seconds(sample->result),
                         .how = sample->result->measured    ? KILN__MEASURED
                                : sample->result->estimated ? KILN__ESTIMATED
                                                            : KILN__SIMULATED,
                         .verified = sample->result->verified,
                         .inputs_seconds = sample->result->inputs_seconds,
                         .copy_seconds = sample->result->copy_seconds,
                         .input_functions = sample->result->input_functions.text};
    kiln__candidate candidate = {.known = &known, .from = KILN_BEST_TUNED};
    kiln_status status = cc.failed ? kiln__fail_memory(error)
                                   : validate_candidate(s, sample->variant, KILN__PARAMS(sample), &config, error);
    if (status == KILN_OK && config)
        status = make_answer(s, config, &candidate, best, error);
    kiln__config_free(config);
    kiln__text_free(&cc);
    return status;
}

kiln_status kiln_best_find(kiln_engine *engine, const kiln_spec *spec, const kiln_choice *choice,
                           const kiln_best_options *given, kiln_best **best, kiln_error **error)
{
    kiln_best_options options;
    KILN__NEEDS(NULL, error, engine);
    KILN__NEEDS(engine->mem, error, spec);
    KILN__NEEDS_CHOICE(engine->mem, error, choice);
    KILN__TRY(kiln__best_take(engine, __func__, given, &options, error));
    KILN__NEEDS(engine->mem, error, best);
    kiln__best_search search;
    kiln_status status = kiln__best_open(engine, spec, choice, &options, &search, error);
    if (status != KILN_OK)
        return status;
    kiln_best *found = NULL;
    search.compares = true;
    status = kiln__best_next(&search, &found, error);
    kiln__best_close(&search);
    if (status == KILN_OK)
        *best = found;
    return status;
}
