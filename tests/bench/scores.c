/* scores.c - the score of one search strategy on recorded spaces, for each seed alone.
 *
 *   kiln-scores [--seeds N] [--from SEED] [--strategy NAME] [--fail SHARE] FILE...
 *
 * Writes one line for each file and seed: the file's name, the seed and the score, separated by tabs. The score is the
 * score of engine/recording/README.md; `kiln compare-strategies` prints its mean over the seeds 1 to N. With --fail,
 * that share of the configurations fails. Each seed draws other failures. scores.py reads the lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "score.h"

static int print_error(kiln_error *error)
{
    fprintf(stderr, "kiln-scores: %s\n", error ? kiln_error_message(error) : "out of memory");
    kiln_error_free(error);
    return 1;
}

/* Lets configurations fail at random, each with the probability `share`. `rows` are the rows as the file has them. The
 * optimum changes if it fails, so the baseline is computed again. */
static bool add_failures(struct kiln_recording *r, const kiln__recording_row *rows, size_t failed, double share,
                         uint64_t seed)
{
    kiln__random random = {.state = seed};
    memcpy(r->rows, rows, r->row_count * sizeof *rows);
    r->failed = failed;
    for (size_t i = 0; i < r->row_count; i++)
        if (kiln__random_unit(&random) < share && !r->rows[i].failure) {
            r->rows[i].seconds = HUGE_VAL;
            r->rows[i].failure = "chosen at random";
            r->failed++;
        }
    return kiln__baseline_make(r);
}

/* Prints the scores of the seeds `from` to `from` + `seeds` - 1 on one file. */
static int score_file(const char *path, const kiln__strategy *strategy, uint64_t from, uint64_t seeds, double share)
{
    kiln_error *error = NULL;
    struct kiln_recording *r = NULL;
    char *data = NULL;
    size_t length = 0;
    if (kiln__file_read(NULL, path, 0, &data, &length, &error) != KILN_OK ||
        kiln__recording_parse(NULL, path, data, length, &r, &error) != KILN_OK) {
        kiln__free(NULL, data);
        return print_error(error);
    }
    kiln__free(NULL, data);
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const size_t size = r->row_count * sizeof *r->rows, failed = r->failed;
    kiln__recording_row *rows = malloc(size ? size : 1);
    bool done = rows != NULL;
    if (rows)
        memcpy(rows, r->rows, size);
    for (uint64_t seed = from; done && seed < from + seeds; seed++) {
        kiln_score score = {0};
        done = (share <= 0 || add_failures(r, rows, failed, share, seed)) &&
               kiln__score(r, strategy, seed, 1, &score, &error) == KILN_OK;
        if (done)
            printf("%s\t%llu\t%.6f\n", name, (unsigned long long)seed, score.score);
    }
    free(rows);
    kiln_recording_free(r);
    return done ? 0 : print_error(error);
}

int main(int count, char **arguments)
{
    uint64_t from = 1, seeds = 100;
    double share = 0;
    const kiln__strategy *strategy = kiln__strategy_find(NULL);
    int at = 1;
    for (; at + 1 < count && strncmp(arguments[at], "--", 2) == 0; at += 2) {
        if (strcmp(arguments[at], "--seeds") == 0)
            seeds = strtoull(arguments[at + 1], NULL, 10);
        else if (strcmp(arguments[at], "--from") == 0)
            from = strtoull(arguments[at + 1], NULL, 10);
        else if (strcmp(arguments[at], "--fail") == 0)
            share = strtod(arguments[at + 1], NULL);
        else if (strcmp(arguments[at], "--strategy") == 0)
            strategy = kiln__strategy_find(arguments[at + 1]);
        else
            break;
    }
    if (!strategy || at >= count || strncmp(arguments[at], "--", 2) == 0) {
        fprintf(stderr, "usage: kiln-scores [--seeds N] [--from SEED] [--strategy NAME] [--fail SHARE] FILE...\n");
        return 2;
    }
    int failed = 0;
    for (; at < count && !failed; at++)
        failed = score_file(arguments[at], strategy, from, seeds, share);
    return fflush(stdout) != 0 || failed;
}
