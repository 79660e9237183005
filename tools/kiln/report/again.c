/* again.c - finds the command line that runs the best sample of a problem again. */
#include <string.h>

#include "report.h"

/* ---- the command line of a sweep ---- */

/* Returns the next word of a command line, without its quotes; cli_shell_word() wrote the command line. Moves *line to
 * the end of the word. Returns NULL at the end of the command line. */
static const char *next_word(const char **line)
{
    const char *at = *line + strspn(*line, " ");
    char *word = cli_alloc(strlen(at) + 1), *to = word;
    if (!*at)
        return NULL;
    for (bool quoted = false; *at && (quoted || *at != ' '); at++) {
        if (*at == '\'')
            quoted = !quoted;
        else if (*at == '\\' && !quoted && at[1])
            *to++ = *++at;
        else
            *to++ = *at;
    }
    *line = at;
    return word;
}

/* The options that a sweep shares with a later run of one of its configurations. */
static const struct kept_option {
    const char *name;
    char letter;
    bool takes_value;
} kept_options[] = {
    {"path", 'I', true}, {"input", 'i', true}, {"read-anywhere", 0, false}, {"allow-commands", 0, false}};

/* Returns the row of kept_options for an option as the user typed it (-I, -IFOLDER, --path, --path=FOLDER). Returns
 * NULL for any other option. *value becomes the value that the same word contains, or NULL if the value is the next
 * word. */
static const struct kept_option *find_kept(const char *word, const char **value)
{
    for (size_t i = 0; i < CLI_COUNT(kept_options); i++) {
        const struct kept_option *option = &kept_options[i];
        size_t length = strlen(option->name);
        *value = NULL;
        if (option->letter && word[0] == '-' && word[1] == option->letter) {
            *value = word[2] ? word + 2 : NULL;
            return option;
        }
        if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, option->name, length) != 0)
            continue;
        if (word[2 + length] == '=')
            *value = word + 2 + length + 1;
        if (*value || !word[2 + length])
            return option;
    }
    return NULL;
}

/* Adds some options of the sweep's command line `command` to `line`: options that name files and folders, and options
 * that allow the spec something. */
static const char *with_kept(const char *line, const char *command)
{
    for (const char *word; (word = next_word(&command)) && strcmp(word, "--") != 0;) {
        const char *value = NULL;
        const struct kept_option *option = find_kept(word, &value);
        if (!option)
            continue;
        if (option->takes_value && !value)
            value = next_word(&command);
        if (!option->takes_value)
            line = cli_printf("%s --%s", line, option->name);
        else if (value)
            line = cli_printf("%s -%c %s", line, option->letter, cli_shell_word(value));
    }
    return line;
}

static bool is_spec_file(const char *word)
{
    static const char *const ends[] = {".yaml", ".yml", ".json"};
    const char *dot = strrchr(word, '.');
    bool found = false;
    for (size_t i = 0; dot && i < CLI_COUNT(ends); i++)
        found = found || strcmp(dot, ends[i]) == 0;
    return found;
}

/* Returns the file of the spec as the command line of the sweep names it. Returns `name` if the command line names no
 * file, because the sweep then found the spec by its name. A word behind an option may be the value of this option, so
 * it is skipped. */
static const char *spec_word(const char *command, const char *name)
{
    for (const char *word, *before = "-"; (word = next_word(&command)); before = word)
        if (*word != '-' && (*before != '-' || strchr(before, '=')) && is_spec_file(word))
            return word;
    return name;
}

const char *report_again(const report *r, const report_problem *p)
{
    const report_sample *s = p->best;
    const char *word = r->found ? r->word : spec_word(s->command, r->word);
    const char *line = cli_printf("kiln run %s", cli_shell_word(word));
    if (*s->variant)
        line = cli_printf("%s -v %s", line, cli_shell_word(s->variant));
    for (size_t i = 0; i < s->param_count; i++)
        line = cli_printf("%s -p %s", line,
                          cli_shell_word(cli_printf("%s=%s", s->params[i].name, cli_value_text(s->params[i].value))));
    for (size_t i = 0; i < p->size_count; i++)
        line = cli_printf(
            "%s -s %s", line,
            cli_shell_word(cli_printf("%s=%s", p->size_list[i].name, cli_value_text(p->size_list[i].value))));
    line = with_kept(line, s->command);
    line = s->elsewhere ? cli_printf("%s --no-verify", line) : line;
    return *p->device_id ? cli_printf("%s -d %s", line, cli_shell_word(p->device_id)) : line;
}
