/* completion.c - kiln completion SHELL: prints scripts for bash, zsh and fish, made from the option tables.
 *
 * The candidates for a completion come from specs and file names, which are untrusted: a value of a param or the name
 * of a file may be $(...). Therefore no script lets its shell expand a candidate. The scripts only compare, quote and
 * insert candidates. out_word() prints one candidate per line. It skips candidates with control characters, because a
 * shell cannot show or insert them. */
#include <stdio.h>
#include <string.h>

#include "commands.h"

/* Returns the shell command that prints the candidates for a kind of argument. Returns "" for files and folders, which
 * the shell itself completes. */
static const char *lister(cli_completes completes)
{
    switch (completes) {
    case CLI_SPECS: return "kiln list --names";
    case CLI_DEVICES: return "kiln devices --names";
    case CLI_VARIANTS: return "_kiln_of_spec variants";
    case CLI_PARAMS: return "_kiln_of_spec params";
    case CLI_SIZES: return "_kiln_of_spec sizes";
    case CLI_NOTHING:
    case CLI_FILES:
    case CLI_FOLDERS:
    case CLI_STRATEGIES:
    case CLI_WORDS: break;
    }
    return "";
}

/* Returns the candidates that are known when the script is printed, with spaces between them. Returns NULL if no
 * candidates are known at that time. */
static const char *fixed_words(cli_completes completes, const char *words)
{
    if (completes != CLI_STRATEGIES)
        return words;
    const char *names = kiln_strategy_name(0);
    for (size_t i = 1; kiln_strategy_name(i); i++)
        names = cli_printf("%s %s", names, kiln_strategy_name(i));
    return names;
}

/* Returns the first sentence of a help text, without characters that have a meaning in the quotes of a shell. */
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
    if (fixed_words(completes, words))
        out_printf("%s_kiln_offer %s\n", indent, fixed_words(completes, words));
    if (completes == CLI_FILES || completes == CLI_NOTHING)
        out_printf("%scompopt -o default\n", indent);
    else if (completes == CLI_FOLDERS)
        out_printf("%scompopt -o dirnames\n", indent);
    else if (completes != CLI_WORDS && completes != CLI_STRATEGIES)
        out_printf("%s_kiln_lines %s\n", indent, lister(completes));
    if (completes == CLI_SPECS)
        out_printf("%s_kiln_files\n", indent);
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
            if (option->completes != CLI_NOTHING)
                bash_reply(option->completes, option->words, "            ");
            out_puts("            return ;;\n");
        }
    out_puts("        esac\n        if [[ $cur == -* ]]; then\n            _kiln_offer");
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g]->count; i++)
            out_printf(" --%s", groups[g]->options[i].name);
    out_puts("\n");
    if (command->completes != CLI_NOTHING) {
        out_puts("        else\n");
        bash_reply(command->completes, command->words, "            ");
    }
    out_puts("        fi ;;\n");
}

static const char bash_words[] =
    "# bash completion for kiln, made by `kiln completion bash`.\n"
    "# Names and values come from specs and files of other people, so this script never expands them. It compares them with\n"
    "# the typed text, and quotes them. It does not use `compgen -W`, which would expand them, nor filename completion of an\n"
    "# answer, which might.\n"
    "\n"
    "# Splits TEXT into words as the shell does, without expanding anything. Sets kiln_words; its last word is at the end of\n"
    "# TEXT, and may be empty. Sets kiln_quote to the quote that is open at the end of TEXT.\n"
    "_kiln_split() {\n"
    "    local text=$1 char next word= begun= i\n"
    "    kiln_words=() kiln_quote=\n"
    "    for ((i = 0; i < ${#text}; i++)); do\n"
    "        char=${text:i:1}\n"
    "        if [[ -n $kiln_quote && $char == \"$kiln_quote\" ]]; then\n"
    "            kiln_quote=\n"
    "        elif [[ $kiln_quote == \"'\" ]]; then\n"
    "            word+=$char\n"
    "        elif [[ $char == \\\\ ]]; then\n"
    "            next=${text:i+1:1}\n"
    "            # In double quotes a backslash is literal unless one of these characters follows it.\n"
    "            [[ $kiln_quote == '\"' && $next != [\\\"\\\\\\$\\`] ]] && word+=$char\n"
    "            word+=$next begun=1\n"
    "            i=$((i + 1))\n"
    "        elif [[ -n $kiln_quote ]]; then\n"
    "            word+=$char\n"
    "        elif [[ $char == [\\'\\\"] ]]; then\n"
    "            kiln_quote=$char begun=1\n"
    "        elif [[ $char == [[:space:]] ]]; then\n"
    "            [[ -n $begun ]] && kiln_words+=(\"$word\")\n"
    "            word= begun=\n"
    "        else\n"
    "            word+=$char begun=1\n"
    "        fi\n"
    "    done\n"
    "    kiln_words+=(\"$word\")\n"
    "}\n"
    "# Adds the WORDs that begin with the typed text to `found`.\n"
    "_kiln_offer() {\n"
    "    local word\n"
    "    for word; do\n"
    "        [[ -n $word && $lead$word == \"$typed\"* ]] && found+=(\"$lead$word\")\n"
    "    done\n"
    "}\n"
    "# Calls _kiln_offer for each line that a command prints.\n"
    "_kiln_lines() {\n"
    "    local line\n"
    "    while IFS= read -r line; do\n"
    "        _kiln_offer \"$line\"\n"
    "    done <<<\"$(\"$@\" 2>/dev/null)\"\n"
    "}\n"
    "# Calls _kiln_offer for each spec file and each folder. Leaves out names with control characters.\n"
    "_kiln_files() {\n"
    "    local file begin=$cur\n"
    "    [[ $begin == '~/'* ]] && begin=$HOME${begin:1}\n"
    "    for file in \"$begin\"*; do\n"
    "        [[ -e $file && $file != *[[:cntrl:]]* ]] || continue\n"
    "        [[ -d $file ]] && file+=/\n"
    "        [[ $cur == '~/'* ]] && file=\"~${file#\"$HOME\"}\" home=1\n"
    "        [[ $file == *.yaml || $file == *.json || $file == */ ]] && _kiln_offer \"$file\"\n"
    "    done\n"
    "}\n"
    "_kiln_of_spec() {\n"
    "    local word spec= first=2 variant= before=\n"
    "    [[ ${words[1]} == study ]] && first=3\n"
    "    for word in \"${words[@]:first}\"; do\n"
    "        [[ $word == -* || -z $word ]] || { spec=$word; break; }\n"
    "    done\n"
    "    [[ $spec == '~/'* ]] && spec=$HOME${spec:1}\n"
    "    for word in \"${words[@]:2}\"; do\n"
    "        [[ $before == -v || $before == --variant || $before == --variants ]] && variant=$word\n"
    "        [[ $word == --variant=* || $word == --variants=* ]] && variant=${word#*=}\n"
    "        [[ $word == -v?* ]] && variant=${word#-v}\n"
    "        before=$word\n"
    "    done\n"
    "    [[ -n $spec ]] && kiln show \"$spec\" --only \"$1\" ${variant:+\"--variant=$variant\"} 2>/dev/null\n"
    "}\n";

static const char bash_answer[] =
    "# Sets `quoted` to TEXT, quoted for a place at which the quote $kiln_quote is open.\n"
    "_kiln_quote() {\n"
    "    local text=$1 char i\n"
    "    quoted=\n"
    "    if [[ -z $kiln_quote ]]; then\n"
    "        if [[ -n $home && $text == '~/'* ]]; then # the name of a file: the shell expands the ~\n"
    "            quoted='~/' text=${text:2}\n"
    "        fi\n"
    "        [[ -z $text ]] || printf -v text %q \"$text\"\n"
    "        quoted+=$text\n"
    "        return\n"
    "    fi\n"
    "    for ((i = 0; i < ${#text}; i++)); do\n"
    "        char=${text:i:1}\n"
    "        case $kiln_quote$char in\n"
    "        \"''\") quoted+=\"'\\\\''\" ;;\n"
    "        '\"!') quoted+='\"\\!\"' ;;\n"
    "        '\"'[\\\"\\\\\\$\\`]) quoted+=\\\\$char ;;\n"
    "        *) quoted+=$char ;;\n"
    "        esac\n"
    "    done\n"
    "    # If `quoted` begins with the quote that was just opened, readline takes the two quotes for one.\n"
    "    [[ -n $opened && $quoted == \"$opened\"* ]] && quoted=$opened$quoted\n"
    "}\n"
    "# Sets `common` to the longest common prefix of all WORDs.\n"
    "_kiln_common() {\n"
    "    local word\n"
    "    common=$1\n"
    "    for word; do\n"
    "        while [[ $word != \"$common\"* ]]; do\n"
    "            common=${common:0:${#common}-1}\n"
    "        done\n"
    "    done\n"
    "}\n"
    "# Sets COMPREPLY from `found`. Removes $1, the beginning of the word, which readline does not replace.\n"
    "_kiln_reply() {\n"
    "    local word quoted common all\n"
    "    ((${#found[@]})) || return\n"
    "    for word in \"${found[@]}\"; do\n"
    "        _kiln_quote \"${word#\"$1\"}\"\n"
    "        COMPREPLY+=(\"$quoted\")\n"
    "    done\n"
    "    [[ ${#found[@]} == 1 && $word == */ ]] && compopt -o nospace\n"
    "    # readline inserts the common prefix of all answers. If the answers differ after the first half of a quoted character\n"
    "    # (a\\ b and a\\$b), only the whole characters before it are inserted. If these are typed already, the answers are only\n"
    "    # listed.\n"
    "    _kiln_common \"${found[@]}\"\n"
    "    all=$common\n"
    "    _kiln_quote \"${all#\"$1\"}\"\n"
    "    _kiln_common \"${COMPREPLY[@]}\"\n"
    "    if [[ $common != \"$quoted\" && $all != \"$typed\" ]]; then\n"
    "        COMPREPLY=(\"$quoted\")\n"
    "        compopt -o nospace\n"
    "    elif [[ $common != \"$quoted\" ]]; then\n"
    "        COMPREPLY+=(' ')\n"
    "    fi\n"
    "    # readline closes the quote after an answer, but not if the answer ends with a quote.\n"
    "    if [[ ${#COMPREPLY[@]} == 1 && -n $kiln_quote && ${COMPREPLY[0]} == *\"$kiln_quote\" ]]; then\n"
    "        COMPREPLY[0]+=$kiln_quote\n"
    "    fi\n"
    "}\n"
    "_kiln() {\n";

static const char bash_tail[] =
    "    esac\n"
    "}\n"
    "_kiln_complete() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} kiln_words kiln_quote words found=() typed cur option lead= home= opened=\n"
    "    COMPREPLY=()\n"
    "    _kiln_split \"$line\"\n"
    "    words=(\"${kiln_words[@]}\")\n"
    "    typed=${words[${#words[@]}-1]} cur=$typed\n"
    "    option=${words[${#words[@]}-2]}\n"
    "    if [[ $cur == --*=* ]]; then\n"
    "        option=${cur%%=*} cur=${cur#*=}\n"
    "        lead=$option=\n"
    "    fi\n"
    "    _kiln\n"
    "    # readline replaces $2: the text after an open quote, or after the last =, : or other character that separates words.\n"
    "    [[ $line == *\"$2\" ]] || return\n"
    "    line=${line:0:${#line}-${#2}}\n"
    "    _kiln_split \"$line\"\n"
    "    [[ -n $kiln_quote && $line == *\"$kiln_quote\" ]] && opened=$kiln_quote\n"
    "    _kiln_reply \"${kiln_words[${#kiln_words[@]}-1]}\"\n"
    "}\n"
    "complete -F _kiln_complete kiln\n";

static void bash(void)
{
    out_puts(bash_words);
    out_puts(bash_answer);
    out_puts("    if ((${#words[@]} <= 2)); then\n        _kiln_offer");
    for (size_t i = 0; cli_commands[i]; i++)
        out_printf(" %s", cli_commands[i]->name);
    out_puts("\n        return\n    fi\n    case ${words[1]} in\n");
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
    case CLI_STRATEGIES:
    case CLI_WORDS: return cli_printf("(%s)", fixed_words(completes, words));
    case CLI_SPECS: return "_kiln_specs";
    case CLI_DEVICES:
    case CLI_VARIANTS:
    case CLI_PARAMS:
    case CLI_SIZES: break;
    }
    return cli_printf("{_kiln_words %s}", lister(completes));
}

static void zsh_option(const cli_option *option)
{
    const char *value = !option->value
                            ? ""
                            : cli_printf(":%s:%s", option->value, zsh_action(option->completes, option->words));
    bool many = option->kind == CLI_LIST || option->kind == CLI_COMMAS;
    const char *equals = option->kind == CLI_OPTIONAL ? "=-" : option->value ? "=" : "";
    const char *colon = option->kind == CLI_OPTIONAL ? ":" : "";
    const char *again = many ? "*" : "";
    if (option->letter)
        out_printf("            '%s-%c%s[%s]%s' \\\n", again, option->letter, option->value ? "+" : "",
                   sentence(option->help), value);
    out_printf("            '%s--%s%s[%s]%s%s' \\\n", again, option->name, equals, sentence(option->help), colon,
               value);
}

/* Prints the completion script for zsh: helper functions, then one case for each command. The options of a command are
 * specifications for _arguments. */
static void print_zsh(void)
{
    out_puts(
        "#compdef kiln\n# zsh completion for kiln, made by `kiln completion zsh`.\n"
        "# Names and values come from specs and files of other people: compadd takes them unchanged and quotes them.\n"
        "_kiln_of_spec() {\n    local word spec variant before first=3\n    [[ ${kiln_line[2]} == study ]] && first=4\n"
        "    for word in \"${(@Q)kiln_line[first,-1]}\"; do # Q: without quotes, and nothing expanded\n"
        "        [[ $word == -* || -z $word ]] || { spec=$word; break }\n    done\n"
        "    for word in \"${(@Q)kiln_line[3,-1]}\"; do\n"
        "        [[ $before == -v || $before == --variant || $before == --variants ]] && variant=$word\n"
        "        [[ $word == --variant=* || $word == --variants=* ]] && variant=${word#*=}\n"
        "        [[ $word == -v?* ]] && variant=${word#-v}\n"
        "        before=$word\n    done\n"
        "    [[ -n $spec ]] && kiln show \"$spec\" --only \"$1\" ${variant:+\"--variant=$variant\"} 2>/dev/null\n}\n"
        "_kiln_words() { local -a found; found=(\"${(@f)$(\"$@\" 2>/dev/null)}\"); compadd -- ${found:#} }\n"
        "_kiln_specs() { _kiln_words kiln list --names; _files -g '*.(yaml|json)' }\n"
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
            out_printf("            '1:%s:(%s)' \\\n            '2:spec:_kiln_specs' \\\n", command->name,
                       command->words);
        else if (command->max_words)
            out_printf("            '1:%s:%s' \\\n", command->name, zsh_action(command->completes, command->words));
        out_puts("            && return ;;\n");
    }
    out_puts("    esac\n}\n_kiln \"$@\"\n");
}

/* ---- fish ---- */

static const char *fish_words(cli_completes completes, const char *words)
{
    if (completes == CLI_WORDS || completes == CLI_STRATEGIES)
        return cli_printf(" -a '%s'", fixed_words(completes, words));
    if (completes == CLI_FILES || completes == CLI_FOLDERS)
        return " -F";
    if (completes == CLI_NOTHING)
        return "";
    return cli_printf(" -a '(%s 2>/dev/null)'", lister(completes));
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

/* Prints the completion script for fish: helper functions, then `complete` lines for each command and each option. */
static void print_fish(void)
{
    out_puts(
        "# fish completion for kiln, made by `kiln completion fish`.\n"
        "# Names and values come from specs and files that others wrote: fish takes the lines of a command as they are\n"
        "# and quotes them.\n"
        "function _kiln_of_spec\n    set -l words (commandline -opc)\n    set -l first 3\n"
        "    set -l variant\n    set -l before ''\n    for word in $words\n"
        "        set -l plain (string unescape -- $word)\n"
        "        string match -q -- $before -v; and set variant --variant=$plain\n"
        "        string match -q -- $before --variant; and set variant --variant=$plain\n"
        "        string match -q -- $before --variants; and set variant --variant=$plain\n"
        "        string match -q -- '--variant*=*' $plain; and set variant (string replace -- --variants= --variant= $plain)\n"
        "        string match -q -- '-v?*' $plain; and set variant (string replace -- -v --variant= $plain)\n"
        "        set before $word\n    end\n"
        "    test \"$words[2]\" = study; and set first 4\n    for word in $words[$first..-1]\n"
        "        if not string match -q -- '-*' $word\n"
        "            kiln show (string unescape -- $word) --only $argv[1] $variant 2>/dev/null # which expands nothing\n"
        "            return\n        end\n    end\nend\n"
        "complete -c kiln -f\n");
    for (size_t i = 0; cli_commands[i]; i++)
        out_printf("complete -c kiln -n __fish_use_subcommand -a %s -d '%s'\n", cli_commands[i]->name,
                   sentence(cli_commands[i]->summary));
    for (size_t i = 0; cli_commands[i]; i++) {
        const cli_command *command = cli_commands[i];
        const cli_group *groups[CLI_MAX_GROUPS];
        size_t count = cli_groups(command, groups);
        if (command->completes == CLI_SPECS)
            out_printf("complete -c kiln -n '__fish_seen_subcommand_from %s' -F -a '(%s 2>/dev/null)'\n", command->name,
                       lister(CLI_SPECS));
        if (command->completes == CLI_SPECS && command->words)
            out_printf("complete -c kiln -n '__fish_seen_subcommand_from %s' -a '%s'\n", command->name, command->words);
        if (command->completes == CLI_WORDS)
            out_printf("complete -c kiln -n '__fish_seen_subcommand_from %s' -a '%s'\n", command->name, command->words);
        for (size_t g = 0; g < count; g++)
            for (size_t k = 0; k < groups[g]->count; k++)
                fish_option(command, &groups[g]->options[k]);
    }
}

static int completion_run(cli *c)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    const char *wanted = c->words.items[0];
    for (size_t i = 0; i < CLI_COUNT(shells); i++) {
        if (strcmp(shells[i].name, wanted) == 0) {
            shells[i].print();
            return 0;
        }
    }
    return cli_usage(c, "no completion for '%s': use bash, zsh or fish", wanted);
}

const cli_command cli_completion_command = {
    .name = "completion",
    .summary = "print a completion script for a shell",
    .arguments = "bash|zsh|fish",
    .about =
        "Prints a script that completes commands, options, specs, variants, params, sizes, devices and strategies.",
    .min_words = 1,
    .max_words = 1,
    .completes = CLI_WORDS,
    .words = "bash zsh fish",
    .examples = (const cli_example[]){{"source <(kiln completion bash)",
                                       "For this shell. Write the line into ~/.bashrc for all shells."},
                                      {"kiln completion fish > ~/.config/fish/completions/kiln.fish", "For fish."},
                                      {"kiln completion zsh > ~/.zfunc/_kiln", "For zsh, in a folder of $fpath."},
                                      {0}},
    .run = completion_run,
};
