/* judge_one.c - one judgement of kiln judge: a candidate on one device, optionally beside the variant of --against. */
#include <errno.h>
#include <string.h>

#include <kiln_tune.h>

#include "judge.h"

enum { SOURCE_MOST = 1 << 20 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int judge_exit_code(int kind)
{
    static const int codes[] = {
#define CLI_X(name, word, code, text) code,
        KILN_JUDGED_MAP(CLI_X)
#undef CLI_X
    };
    return codes[kind];
}

/* The opponent, which is the variant that --against names. The options of the judgement point into `best`, which holds
 * the best configuration of the opponent. */
typedef struct opponent {
    kiln_spec *spec; /* the spec of the opponent; NULL means that the opponent is a variant of the judged spec */
    kiln_best *best;
} opponent;

/* Finds the best known configuration of the opponent's spec at the sizes of the judged spec. A missing store counts as
 * empty, unless the user named it. The opponent then gets its default configuration, and the verdict says so. */
static int find_best(cli *c, opponent *of, kiln_judge_options *options)
{
    const judge_args *args = c->args;
    kiln_store *store = NULL;
    kiln_error *error = NULL;
    const kiln_size_set *sizes = kiln_spec_size_set(c->spec, 0);
    const kiln_choice choice = {.sizes = sizes ? sizes->settings : NULL, .size_count = sizes ? sizes->count : 0};
    kiln_status status = kiln_store_open(c->engine, args->store, KILN_STORE_READ, &store, &error);
    if (status == KILN_ERROR_NOT_FOUND && !args->store) {
        kiln_error_free(error);
        error = NULL;
        status = KILN_OK;
    }
    const kiln_best_options wanted = {.size = sizeof wanted, .store = store};
    if (status == KILN_OK)
        status = kiln_best_find(c->engine, of->spec, &choice, &wanted, &of->best, &error);
    kiln_store_close(store);
    if (status != KILN_OK)
        return cli_error(c, error);
    options->against = of->best->variant;
    options->against_params = of->best->params;
    options->against_param_count = of->best->param_count;
    options->against_origin = cli_printf("best known: %s", kiln_best_text(of->best->from));
    return 0;
}

/* Finds the opponent that --against names. A variant of the judged spec with this name is the opponent. If the judged
 * spec has no such variant, the name is the name of another spec, whose best variant is the opponent. */
static int find_opponent(cli *c, opponent *of, kiln_judge_options *options)
{
    const judge_args *args = c->args;
    kiln_error *error = NULL;
    if (!args->against)
        return 0;
    if (kiln_spec_variant_find(c->spec, args->against) >= 0) {
        options->against = args->against;
        return 0;
    }
    kiln_status status = kiln_spec_load(c->engine, args->against, &of->spec, &error);
    if (status == KILN_ERROR_NOT_FOUND) {
        kiln_error_free(error);
        return cli_fail(c, status, "--against %s: %s has no such variant, and there is no such spec", args->against,
                        kiln_spec_name(c->spec));
    }
    if (status != KILN_OK)
        return cli_error(c, error);
    options->against_spec = of->spec;
    return find_best(c, of, options);
}

/* Judges one candidate in the sandboxed process. It reads the candidate before it gives up its rights. */
static int judge_here(cli *c, void *user)
{
    const judge_args *args = c->args;
    const cli_choice_args wanted = {.variant = args->variant, .params = args->params};
    kiln_error *error = NULL;
    cli_choice chosen;
    (void)user;
    int code = cli_spec(c, &args->engine);
    if (code)
        return code;
    if (!cli_make_choice(c, &wanted, wanted.variant, &chosen))
        return CLI_USAGE;
    size_t length;
    const char *text = cli_read_file(args->candidate, SOURCE_MOST, &length);
    if (!text)
        return cli_fail(c, KILN_ERROR_IO, "%s: the candidate cannot be read: %s", args->candidate, strerror(errno));
    kiln_judgement *verdict = NULL;
    opponent other = {0};
    kiln_judge_options options = {.size = sizeof options,
                                  .variant = chosen.choice.variant,
                                  .params = chosen.choice.params,
                                  .param_count = chosen.choice.param_count,
                                  .seed = args->seed,
                                  .budget = args->budget,
                                  .launch_limit = args->run.sample_timeout};
    code = find_opponent(c, &other, &options);
    kiln_status status = KILN_OK;
    char digest[33];
    if (!code && args->digest)
        status = kiln_judge_digest(c->engine, c->spec, text, length, base_name(args->candidate), &options, digest,
                                   &error);
    else if (!code)
        status = kiln_judge(c->engine, c->spec, text, length, base_name(args->candidate), &options, &verdict, &error);
    kiln_best_free(other.best);
    kiln_spec_free(other.spec);
    if (code || status != KILN_OK)
        return code ? code : cli_error(c, error);
    if (args->digest) {
        json_t *object = js_object();
        js_set(object, "digest", js_text(digest));
        js_set(object, "folder", js_text(kiln_cache_dir(c->engine)));
        js_print(object);
        return 0;
    }
    const char *json = kiln_judgement_json(verdict);
    if (args->collected) {
        json_t *object = js_object();
        js_set(object, "kind", js_whole((uint64_t)kiln_judgement_kind(verdict)));
        js_set(object, "json", js_text(json));
        js_set(object, "page", js_text(kiln_judgement_page(verdict)));
        js_print(object);
    } else if (c->output.json)
        /* the last character is left out, because out_json() ends the line */
        out_json(cli_strndup(json, strlen(json) - 1));
    else
        out_puts(kiln_judgement_page(verdict));
    code = judge_exit_code(kiln_judgement_kind(verdict));
    kiln_judgement_free(verdict);
    return code;
}

int judge_alone(cli *c)
{
    const judge_args *args = c->args;
    return cli_apart(c, &args->engine, &args->run, judge_here, NULL);
}

int judge_digest(cli *c)
{
    judge_args *args = c->args;
    args->digest = true;
    cli_sandbox(c, &args->engine);
    return judge_here(c, NULL);
}
