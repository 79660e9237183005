/* completion.c - kiln completion SHELL: scripts for bash, zsh and fish, out of the option tables. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* What each kind of word is completed with, as a shell command that prints candidates; "" for files and folders. */
static const char *lister(cli_completes completes)
{
    switch (completes) {
    case CLI_SPECS: return "kiln list --names 2>/dev/null";
    case CLI_DEVICES: return "_kiln_devices";
    case CLI_VARIANTS: return "_kiln_of_spec variants";
    case CLI_PARAMS: return "_kiln_of_spec params";
    case CLI_SIZES: return "_kiln_of_spec sizes";
    case CLI_NOTHING:
    case CLI_FILES:
    case CLI_FOLDERS:
    case CLI_WORDS: break;
    }
    return "";
}

/* The first sentence of a help text, without what a shell would read in quotes. */
static const char *sentence(const char *help)
{
    const char *end = strstr(help, ". ");
    size_t length = end ? (size_t)(end - help) : strlen(help) - (help[strlen(help) - 1] == '.');
    char *text = cli_strndup(help, length);
    for (char *c = text; *c; c++)
        if (strchr("'\"`$\\[]", *c))
            *c = ' ';
    return text;
}

static const char *both_names(const cli_option *option, const char *between)
{
    return option->letter ? cli_printf("-%c%s--%s", option->letter, between, option->name)
                          : cli_printf("--%s", option->name);
}

/* ---- bash ---- */

static void bash_reply(cli_completes completes, const char *words, const char *indent)
{
    if (completes == CLI_FILES || completes == CLI_NOTHING)
        out_printf("%sCOMPREPLY=($(compgen -f -- \"$cur\"))\n", indent);
    else if (completes == CLI_FOLDERS)
        out_printf("%sCOMPREPLY=($(compgen -d -- \"$cur\"))\n", indent);
    else if (completes == CLI_WORDS)
        out_printf("%sCOMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n", indent, words);
    else if (completes == CLI_SPECS)
        out_printf("%sCOMPREPLY=($(compgen -W \"%s$(%s)\" -- \"$cur\") $(compgen -f -X '!*.@(yaml|json)' -- \"$cur\"))\n",
                   indent, words ? cli_printf("%s ", words) : "", lister(completes));
    else
        out_printf("%sCOMPREPLY=($(compgen -W \"$(%s)\" -- \"$cur\"))\n", indent, lister(completes));
}

static void bash_command(const cli_command *command)
{
    const cli_group *groups[CLI_MAX_GROUPS];
    size_t count = cli_groups(command, groups);
    out_printf("    %s)\n        case $option in\n", command->name);
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g]->count; i++) {
            const cli_option *option = &groups[g]->options[i];
            if (option->kind == CLI_FLAG || option->kind == CLI_OPTIONAL)
                continue;
            out_printf("        %s)\n", both_names(option, "|"));
            if (option->completes == CLI_NOTHING)
                out_puts("            COMPREPLY=()\n");
            else
                bash_reply(option->completes, option->words, "            ");
            out_puts("            return ;;\n");
        }
    out_puts("        esac\n        if [[ $cur == -* ]]; then\n            COMPREPLY=($(compgen -W '");
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g]->count; i++)
            out_printf("%s--%s", g || i ? " " : "", groups[g]->options[i].name);
    out_puts("' -- \"$cur\"))\n");
    if (command->completes != CLI_NOTHING) {
        out_puts("        else\n");
        bash_reply(command->completes, command->words, "            ");
    }
    out_puts("        fi ;;\n");
}

static const char bash_head[] =
    "# bash completion for kiln, made by `kiln completion bash`.\n"
    "# bash splits words at = and : ; these are put together again here.\n"
    "_kiln_devices() { echo sim; kiln devices --json 2>/dev/null | sed -n 's/^ *\"id\": \"\\(.*\\)\",*$/\\1/p'; }\n"
    "_kiln_of_spec() {\n"
    "    local word spec= first=2\n"
    "    [[ ${COMP_WORDS[1]} == study ]] && first=3\n"
    "    for word in \"${COMP_WORDS[@]:first}\"; do\n"
    "        [[ $word == -* || -z $word ]] || { spec=$word; break; }\n"
    "    done\n"
    "    [[ -n $spec ]] && kiln show \"$spec\" --only \"$1\" 2>/dev/null\n"
    "}\n"
    "_kiln() {\n"
    "    local cur option line=${COMP_LINE:0:COMP_POINT} lead=\n"
    "    cur=${line##*[[:space:]]}\n"
    "    option=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local before=${line%\"$cur\"}; before=${before%\"${before##*[![:space:]]}\"}\n"
    "    option=${before##*[[:space:]]}\n"
    "    if [[ $cur == --*=* ]]; then option=${cur%%=*}; cur=${cur#*=}; fi\n"
    "    if [[ $COMP_CWORD -le 1 ]]; then\n";

static const char bash_tail[] =
    "    esac\n"
    "}\n"
    "_kiln_complete() {\n"
    "    _kiln\n"
    "    # What bash holds to be the current word begins after the last = or : of what was typed.\n"
    "    local line=${COMP_LINE:0:COMP_POINT} typed lead i\n"
    "    typed=${line##*[[:space:]]}; [[ $typed == --*=* ]] && typed=${typed#*=}\n"
    "    if [[ $typed == *[=:]* ]]; then\n"
    "        lead=${typed%\"${typed##*[=:]}\"}\n"
    "        for i in \"${!COMPREPLY[@]}\"; do COMPREPLY[i]=${COMPREPLY[i]#\"$lead\"}; done\n"
    "    fi\n"
    "}\n"
    "complete -o bashdefault -o filenames -F _kiln_complete kiln\n";

static void bash(void)
{
    out_puts(bash_head);
    out_puts("        COMPREPLY=($(compgen -W '");
    for (size_t i = 0; cli_commands[i]; i++)
        out_printf("%s%s", i ? " " : "", cli_commands[i]->name);
    out_puts("' -- \"$cur\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; cli_commands[i]; i++)
        bash_command(cli_commands[i]);
    out_puts(bash_tail);
}

/* ---- zsh ---- */

static const char *zsh_action(cli_completes completes, const char *words)
{
    switch (completes) {
    case CLI_NOTHING: return " ";
    case CLI_FILES: return "_files";
    case CLI_FOLDERS: return "_files -/";
    case CLI_WORDS: return cli_printf("(%s)", words);
    case CLI_SPECS: return "_kiln_specs";
    case CLI_DEVICES:
    case CLI_VARIANTS:
    case CLI_PARAMS:
    case CLI_SIZES: break;
    }
    return cli_printf("{_kiln_words %s}", completes == CLI_DEVICES ? "_kiln_devices" : lister(completes));
}

static void zsh_option(const cli_option *option)
{
    const char *value = !option->value ? "" : cli_printf(":%s:%s", option->value,
                                                         zsh_action(option->completes, option->words));
    bool many = option->kind == CLI_LIST || option->kind == CLI_COMMAS;
    const char *equals = option->kind == CLI_OPTIONAL ? "=-" : option->value ? "=" : "";
    const char *colon = option->kind == CLI_OPTIONAL ? ":" : "";
    const char *again = many ? "*" : "";
    if (option->letter)
        out_printf("            '%s-%c%s[%s]%s' \\\n", again, option->letter, option->value ? "+" : "",
                   sentence(option->help), value);
    out_printf("            '%s--%s%s[%s]%s%s' \\\n", again, option->name, equals, sentence(option->help), colon, value);
}

static void zsh(void)
{
    out_puts("#compdef kiln\n# zsh completion for kiln, made by `kiln completion zsh`.\n"
             "_kiln_devices() { print sim; kiln devices --json 2>/dev/null | sed -n 's/^ *\"id\": \"\\(.*\\)\",*$/\\1/p' }\n"
             "_kiln_of_spec() {\n    local word spec first=3\n    [[ ${kiln_line[2]} == study ]] && first=4\n"
             "    for word in ${kiln_line[first,-1]}; do\n"
             "        [[ $word == -* || -z $word ]] || { spec=$word; break }\n    done\n"
             "    [[ -n $spec ]] && kiln show \"$spec\" --only \"$1\" 2>/dev/null\n}\n"
             "_kiln_words() { local -a found; found=(${(f)\"$(\"$@\")\"}); compadd -a found }\n"
             "_kiln_specs() { local -a found; found=(${(f)\"$(kiln list --names 2>/dev/null)\"}); compadd -a found; "
             "_files -g '*.(yaml|json)' }\n"
             "_kiln() {\n    local -a commands kiln_line\n    kiln_line=($words)\n    commands=(\n");
    for (size_t i = 0; cli_commands[i]; i++)
        out_printf("        '%s:%s'\n", cli_commands[i]->name, sentence(cli_commands[i]->summary));
    out_puts("    )\n    if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
             "    local command=$words[2]\n    shift words; (( CURRENT-- ))\n    case $command in\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        const cli_command *command = cli_commands[i];
        const cli_group *groups[CLI_MAX_GROUPS];
        size_t count = cli_groups(command, groups);
        out_printf("    %s)\n        _arguments -S \\\n", command->name);
        for (size_t g = 0; g < count; g++)
            for (size_t k = 0; k < groups[g]->count; k++)
                zsh_option(&groups[g]->options[k]);
        if (command->words && command->completes == CLI_SPECS)
            out_printf("            '1:%s:(%s)' \\\n            '2:spec:_kiln_specs' \\\n", command->name, command->words);
        else if (command->max_words)
            out_printf("            '1:%s:%s' \\\n", command->name, zsh_action(command->completes, command->words));
        out_puts("            && return ;;\n");
    }
    out_puts("    esac\n}\n_kiln \"$@\"\n");
}

/* ---- fish ---- */

static const char *fish_words(cli_completes completes, const char *words)
{
    if (completes == CLI_WORDS)
        return cli_printf(" -a '%s'", words);
    if (completes == CLI_FILES || completes == CLI_FOLDERS)
        return " -F";
    if (completes == CLI_NOTHING)
        return "";
    return cli_printf(" -a '(%s)'", lister(completes));
}

static void fish_option(const cli_command *command, const cli_option *option)
{
    out_printf("complete -c kiln -n '__fish_seen_subcommand_from %s' -l %s", command->name, option->name);
    if (option->letter)
        out_printf(" -s %c", option->letter);
    if (option->value && option->kind != CLI_OPTIONAL)
        out_printf(" %s%s", option->completes == CLI_FILES || option->completes == CLI_FOLDERS ? "-r" : "-x",
                   fish_words(option->completes, option->words));
    out_printf(" -d '%s'\n", sentence(option->help));
}

static void fish(void)
{
    out_puts("# fish completion for kiln, made by `kiln completion fish`.\n"
             "function _kiln_devices\n    echo sim\n"
             "    kiln devices --json 2>/dev/null | sed -n 's/^ *\"id\": \"\\(.*\\)\",*$/\\1/p'\nend\n"
             "function _kiln_of_spec\n    set -l words (commandline -opc)\n    set -l first 3\n"
             "    test \"$words[2]\" = study; and set first 4\n    for word in $words[$first..-1]\n"
             "        if not string match -q -- '-*' $word\n"
             "            kiln show $word --only $argv[1] 2>/dev/null\n            return\n        end\n    end\nend\n"
             "complete -c kiln -f\n");
    for (size_t i = 0; cli_commands[i]; i++)
        out_printf("complete -c kiln -n __fish_use_subcommand -a %s -d '%s'\n", cli_commands[i]->name,
                   sentence(cli_commands[i]->summary));
    for (size_t i = 0; cli_commands[i]; i++) {
        const cli_command *command = cli_commands[i];
        const cli_group *groups[CLI_MAX_GROUPS];
        size_t count = cli_groups(command, groups);
        if (command->completes == CLI_SPECS)
            out_printf("complete -c kiln -n '__fish_seen_subcommand_from %s' -F -a '(%s)'\n", command->name,
                       lister(CLI_SPECS));
        if (command->completes == CLI_SPECS && command->words)
            out_printf("complete -c kiln -n '__fish_seen_subcommand_from %s' -a '%s'\n", command->name, command->words);
        if (command->completes == CLI_WORDS)
            out_printf("complete -c kiln -n '__fish_seen_subcommand_from %s' -a '%s'\n", command->name,
                       command->words);
        for (size_t g = 0; g < count; g++)
            for (size_t k = 0; k < groups[g]->count; k++)
                fish_option(command, &groups[g]->options[k]);
    }
}

static int completion_run(cli *c)
{
    static const struct { const char *name; void (*print)(void); } shells[] = {
        {"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    const char *wanted = c->args.words.items[0];
    for (size_t i = 0; i < CLI_COUNT(shells); i++) {
        if (strcmp(shells[i].name, wanted) == 0) {
            shells[i].print();
            return 0;
        }
    }
    return cli_usage(c, "no completion for '%s': there are bash, zsh and fish", wanted);
}

const cli_command cli_completion_command = {
    .name = "completion",
    .summary = "print a completion script for a shell",
    .arguments = "bash|zsh|fish",
    .about = "Prints a script that completes commands, options, specs, variants, params, sizes and devices.",
    .min_words = 1,
    .max_words = 1,
    .completes = CLI_WORDS,
    .words = "bash zsh fish",
    .examples = (const cli_example[]){{"source <(kiln completion bash)", "For this shell; in ~/.bashrc, for all."},
                                      {"kiln completion fish > ~/.config/fish/completions/kiln.fish", "For fish."},
                                      {"kiln completion zsh > ~/.zfunc/_kiln", "For zsh, in a folder of $fpath."},
                                      {0}},
    .run = completion_run,
};
