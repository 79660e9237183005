/* objective.c - evaluates the objectives of a sweep. An objective is an expression over measurements and over the
 * spec's metrics, params and sizes. If there are several objectives, this file also computes the Pareto front. */
#include <math.h>
#include <string.h>

#include "config.h"
#include "objective_internal.h"
#include "tuning_internal.h"

/* The fields of a result that an objective may use. X has the same arguments as in KILN__MEASUREMENTS. */
#define FIELDS(X)                                                                                                      \
    KILN__MEASUREMENTS(X)                                                                                              \
    X(compile, false, true, (double)r->compile_ns / 1e9, "")

typedef struct field {
    const char *name;
    bool more_is_better;
    const char *missing;
} field;
static const field fields[] = {
#define X(name, more, known, value, missing) {#name, more, missing},
    FIELDS(X)
#undef X
};

typedef struct objective {
    kiln__source source; /* the text of the expression, for messages */
    const kiln__expr *expr;
    bool maximise;
    /* the field that is the whole expression of the objective; NULL means that the expression is not one field */
    const field *plain;
} objective;

struct kiln__goals {
    kiln_engine *engine;
    const kiln_spec *spec;
    const kiln_tune_options *options;
    kiln__arena arena;
    size_t count; /* 0 means time */
    objective *objectives;
    /* an objective uses names that are not fields of a result, and needs the configuration for them */
    bool needs_config;
    bool needs_energy;
};

static const field *field_named(const char *name)
{
    for (size_t i = 0; i < KILN__COUNT(fields); i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

/* Reads a field of a result. Returns false if the result does not have the field. */
static bool field_value(const kiln_result *r, const field *wanted, double *value)
{
    double seconds = kiln__result_seconds(r);
    const struct {
        bool known;
        double value;
    } all[] = {
#define X(name, more, known, value, missing) {known, value},
        FIELDS(X)
#undef X
    };
    *value = all[wanted - fields].value;
    return all[wanted - fields].known;
}

/* ---- names ---- */

static void add_name(const char **names, size_t *count, const char *name)
{
    if (names)
        names[*count] = name;
    ++*count;
}

/* Lists all names that an objective may use, except device.*. The allowed names are the result's fields, and the names
 * of all variants. */
static size_t list_names(const kiln_spec *spec, const char **names)
{
    size_t count = 0;
    for (size_t i = 0; i < KILN__COUNT(fields); i++)
        add_name(names, &count, fields[i].name);
    for (size_t v = 0; v < spec->variant_count; v++) {
        const kiln__variant *variant = &spec->variants[v];
        for (size_t i = 0; i < variant->metric_count; i++)
            add_name(names, &count, variant->metrics[i].name);
        for (size_t i = 0; i < variant->param_count; i++)
            add_name(names, &count, variant->params[i].name);
        for (size_t i = 0; i < variant->let_count; i++)
            add_name(names, &count, variant->lets[i].name);
    }
    for (size_t i = 0; i < spec->size_sets[0].settings.count; i++)
        add_name(names, &count, spec->size_sets[0].settings.items[i].name);
    return count;
}

static kiln_status check_names(kiln__goals *g, const objective *o, kiln_error **error)
{
    size_t count = list_names(g->spec, NULL);
    const char **names = kiln__arena_alloc(&g->arena, (count + 1) * sizeof *names);
    if (!names)
        return kiln__fail_memory(error);
    list_names(g->spec, names);
    kiln__diag diag = {.mem = g->engine->mem};
    for (size_t i = 0; i < kiln__expr_name_count(o->expr); i++) {
        const char *name = kiln__expr_name(o->expr, i);
        bool known = strncmp(name, "device.", 7) == 0;
        for (size_t k = 0; k < count && !known; k++)
            known = strcmp(names[k], name) == 0;
        g->needs_config |= !field_named(name);
        g->needs_energy |= strcmp(name, "energy") == 0 || strcmp(name, "power") == 0;
        if (known)
            continue;
        const char *near = kiln__nearest(name, names, count);
        kiln__diag_add(
            &diag, kiln__expr_name_pos(o->expr, i),
            "an objective may use measurements (time, gflops, gbs, roofline, energy, power, compile, error), "
            "metrics, params and sizes; unknown name '%s'%s%s%s",
            name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return kiln__diag_finish(&diag, KILN_ERROR_NOT_FOUND, error);
}

/* ---- opening ---- */

static kiln_status parse(kiln__goals *g, const char *text, objective *o, kiln_error **error)
{
    bool least = strncmp(text, "min:", 4) == 0, most = strncmp(text, "max:", 4) == 0;
    const char *body = least || most ? text + 4 : text;
    o->source = (kiln__source){"objective", kiln__arena_strdup(&g->arena, body), strlen(body)};
    if (!o->source.text)
        return kiln__fail_memory(error);
    kiln__diag diag = {.mem = g->engine->mem};
    o->expr = kiln__expr_parse(&g->arena, body, o->source.length, (kiln__pos){&o->source, 1, 1}, 0, &diag);
    kiln_status status = kiln__diag_finish(&diag, KILN_ERROR_ARGUMENT, error);
    if (status != KILN_OK || !o->expr)
        return status != KILN_OK ? status : kiln__fail_memory(error);
    if (kiln__expr_name_count(o->expr) == 1 && strcmp(kiln__expr_name(o->expr, 0), body) == 0)
        o->plain = field_named(body);
    o->maximise = most || (!least && o->plain && o->plain->more_is_better);
    return check_names(g, o, error);
}

kiln_status kiln__goals_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                             kiln__goals **goals, kiln_error **error)
{
    kiln__goals *g = kiln__calloc(engine->mem, 1, sizeof *g);
    if (!g)
        return kiln__fail_memory(error);
    *g = (kiln__goals){.engine = engine,
                       .spec = spec,
                       .options = options,
                       .arena.mem = engine->mem,
                       .count = options->objective_count};
    g->objectives = kiln__arena_alloc(&g->arena, (g->count + 1) * sizeof *g->objectives);
    kiln_status status = g->objectives ? KILN_OK : kiln__fail_memory(error);
    for (size_t i = 0; i < g->count && status == KILN_OK; i++)
        status = parse(g, options->objectives[i], &g->objectives[i], error);
    if (status != KILN_OK) {
        kiln__goals_free(g);
        return status;
    }
    *goals = g;
    return KILN_OK;
}

void kiln__goals_free(kiln__goals *g)
{
    if (!g)
        return;
    kiln__arena_free(&g->arena);
    kiln__free(g->engine->mem, g);
}

bool kiln__goals_need_energy(const kiln__goals *g) { return g->needs_energy; }

bool kiln__goals_by_time(const kiln_tune_options *options)
{
    const char *only = options->objective_count == 1 ? options->objectives[0] : "";
    return options->objective_count == 0 || strcmp(only, "time") == 0 || strcmp(only, "min:time") == 0;
}

/* ---- evaluating the objectives of a sample ---- */

typedef struct judged {
    const kiln_result *result;
    const kiln__config *config;
} judged;

/* Finds the value of a metric in a text "NAME=VALUE ...". */
static bool find_kept(const char *text, const char *name, kiln_value *value)
{
    size_t length = strlen(name);
    for (; *text; text += strcspn(text, " "), text += *text == ' ')
        if (strncmp(text, name, length) == 0 && text[length] == '=') {
            *value = (kiln_value){.kind = KILN_FLOAT, .as.f = kiln__parse_double(text + length + 1, NULL)};
            return true;
        }
    return false;
}

static bool find_name(void *user, const char *name, kiln_value *value);

/* Finds a name in the expression of a metric. The spec's own names come before the fields of a result. */
static bool find_in_metric(void *user, const char *name, kiln_value *value)
{
    const judged *j = user;
    return kiln__scope_find(kiln__config_scope(j->config), name, value) || find_name(user, name, value);
}

/* Finds a name of an objective: a field of the result, or a metric of the variant. A metric keeps the value that it had
 * at the run, because it may need inputs. If the run left no value, the function computes the metric. */
static bool find_name(void *user, const char *name, kiln_value *value)
{
    const judged *j = user;
    const field *wanted = field_named(name);
    if (wanted) {
        value->kind = KILN_FLOAT;
        return field_value(j->result, wanted, &value->as.f);
    }
    if (find_kept(j->result->metrics.text, name, value))
        return true;
    const kiln__variant *variant = j->config ? j->config->variant : NULL;
    const kiln__scope scope = {.find = find_in_metric, .user = user};
    for (size_t i = 0; variant && i < variant->metric_count; i++)
        if (strcmp(variant->metrics[i].name, name) == 0)
            return kiln__expr_eval(variant->metrics[i].expr, &scope, value, NULL);
    return false;
}

/* Returns a field that the expression uses and that the result does not have. Returns NULL if the result has all fields
 * of the expression. */
static const field *missing_field(const objective *o, const kiln_result *result)
{
    double value;
    for (size_t i = 0; i < kiln__expr_name_count(o->expr); i++) {
        const field *named = field_named(kiln__expr_name(o->expr, i));
        if (named && !field_value(result, named, &value))
            return named;
    }
    return NULL;
}

static kiln_status judge_one(kiln__goals *g, const objective *o, judged *j, double *value, kiln_error **error)
{
    const field *missing = missing_field(o, j->result);
    if (missing)
        return kiln__fail(g->engine->mem, error, KILN_ERROR_UNSUPPORTED, "objective %s: there is no %s: %s",
                          o->source.text, missing->name, missing->missing);
    if (o->plain)
        return field_value(j->result, o->plain, value), KILN_OK;
    kiln__diag diag = {.mem = g->engine->mem};
    kiln__scope scope = {.outer = j->config ? kiln__config_scope(j->config) : NULL, .find = find_name, .user = j};
    kiln__expr_eval_float(o->expr, &scope, "objective", value, &diag);
    return kiln__diag_finish(&diag, KILN_ERROR_ARGUMENT, error);
}

kiln_status kiln__goals_judge(kiln__goals *g, kiln__arena *arena, kiln_sample *sample, kiln_error **error)
{
    if (g->count == 0)
        return KILN_OK;
    const kiln_tune_options *from = g->options;
    kiln_choice choice = {sample->variant, sample->params, sample->param_count,
                          from->size_set,  from->sizes,    from->size_count};
    kiln__config *config = NULL;
    double *values = kiln__arena_alloc(arena, g->count * sizeof *values);
    kiln_status status = values ? KILN_OK : kiln__fail_memory(error);
    if (status == KILN_OK && g->needs_config)
        status = kiln__config_make(g->engine, g->spec, &choice, &config, error);
    judged j = {sample->result, config};
    for (size_t i = 0; i < g->count && status == KILN_OK; i++)
        status = judge_one(g, &g->objectives[i], &j, &values[i], error);
    kiln__config_free(config);
    if (status == KILN_OK)
        sample->objectives = values;
    return status;
}

/* Returns a sample's value of one objective in a form that can be compared. Less is better, and NaN becomes the worst
 * value. */
static double loss(const kiln__goals *g, const kiln_sample *sample, size_t number)
{
    double value = g->objectives[number].maximise ? -sample->objectives[number] : sample->objectives[number];
    return isfinite(value) ? value : HUGE_VAL;
}

double kiln__goals_rank(const kiln__goals *g, const kiln_sample *sample)
{
    if (sample->status != KILN_OK)
        return HUGE_VAL;
    return sample->objectives ? loss(g, sample, 0) : kiln__result_seconds(sample->result);
}

double kiln__goals_told(const kiln__goals *g, const kiln_sample *sample)
{
    if (sample->status != KILN_OK || g->count < 2)
        return kiln__goals_rank(g, sample);
    double sum = 0;
    for (size_t i = 0; i < g->count; i++) {
        double value = sample->objectives[i], logarithm = value > 0 ? log(value) : log(1e-300);
        if (!isfinite(value))
            return HUGE_VAL;
        sum += g->objectives[i].maximise ? -logarithm : logarithm;
    }
    return exp(sum / (double)g->count);
}

/* ---- the Pareto front ---- */

static bool dominates(const kiln__goals *g, const kiln_sample *one, const kiln_sample *other)
{
    bool better = false;
    for (size_t i = 0; i < g->count; i++) {
        double a = loss(g, one, i), b = loss(g, other, i);
        if (a > b)
            return false;
        better |= a < b;
    }
    return better;
}

/* Marks the Pareto front by one pass over the samples. A sample enters the front if no member dominates it, and every
 * member that it dominates leaves the front. Failed samples and variants with `contender: false` are not on the front.
 * If the best sample has an estimate, samples without an estimate are not on the front. If there is only one objective,
 * there is no front. */
bool kiln__goals_front(const kiln__goals *g, kiln_tuning *tuning)
{
    if (g->count < 2)
        return true;
    kiln_sample **front = NULL;
    size_t count = 0, capacity = 0;
    bool ok = true;
    for (size_t i = 0; i < tuning->count && ok; i++) {
        kiln_sample *sample = tuning->samples[i];
        bool beaten = sample->status != KILN_OK || !sample->contender || !sample->objectives ||
                      (tuning->best && tuning->best->result->estimated && !sample->result->estimated);
        for (size_t k = 0; k < count && !beaten; k++)
            beaten = dominates(g, front[k], sample);
        if (beaten)
            continue;
        size_t kept = 0;
        for (size_t k = 0; k < count; k++) {
            front[k]->front = !dominates(g, sample, front[k]);
            if (front[k]->front)
                front[kept++] = front[k];
        }
        count = kept;
        ok = kiln__grow(tuning->mem, &front, &capacity, count + 1, sizeof *front);
        if (ok) {
            sample->front = 1;
            front[count++] = sample;
        }
    }
    kiln__free(tuning->mem, front);
    return ok;
}
