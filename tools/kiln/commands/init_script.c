/* init_script.c - kiln init SCRIPT.py: drafts a spec from a script that calls Kernel Tuner. The Python program
 * kernel_tuner.py is compiled into the command. It reads the script in a process of python3 and answers with JSON. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "commands.h"
#include "init.h"

extern char **environ;

#define LARGEST_ANSWER (16u << 20)

/* Runs python3 with `from` as its standard input and `to` as its standard output. Messages of python3 go to standard
 * error. Returns 0 or an error number. *status becomes the status that waitpid() gives. */
static int run_python(const char *script, const char *kernel, FILE *from, FILE *to, int *status)
{
    const char *const words[] = {"python3", "-I", "-", script, kernel ? kernel : "", NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawn_file_actions_adddup2(&actions, fileno(from), 0);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, fileno(to), 1);
    if (!failed)
        failed = posix_spawnp(&pid, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (!failed && waitpid(pid, status, 0) < 0)
        if (errno != EINTR)
            failed = errno;
    return failed;
}

/* Reads the script. *answer becomes the JSON that kernel_tuner.py prints; the caller frees it. Returns 0 or the exit
 * code. */
static int read_script(cli *c, const char *script, json_t **answer)
{
    const init_args *args = c->args;
    struct stat info;
    FILE *from = tmpfile(), *to = tmpfile();
    int status = 0, code = 0, failed = 0;
    char *text = NULL;
    bool ready = from && to && fwrite(init_files[0].data, 1, init_files[0].size, from) == init_files[0].size &&
                 fflush(from) == 0;
    if (ready)
        rewind(from);
    failed = ready ? run_python(script, args->kernel, from, to, &status) : errno;
    if (failed == ENOENT)
        code = cli_fail(c, KILN_ERROR_NOT_FOUND,
                        "%s is a script in Python, and reading it needs the program python3, which is not installed",
                        script);
    else if (failed)
        code = cli_fail(c, KILN_ERROR_IO, "python3: %s", strerror(failed));
    else if (fstat(fileno(to), &info) != 0 || info.st_size > (off_t)LARGEST_ANSWER)
        code = cli_fail(c, KILN_ERROR_IO, "%s: the output of python3 is larger than %s", script,
                        cli_bytes(LARGEST_ANSWER));
    if (!code) {
        rewind(to);
        text = cli_alloc((size_t)info.st_size + 1);
        size_t length = fread(text, 1, (size_t)info.st_size, to);
        *answer = json_loadb(text, length, 0, NULL);
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
            code = cli_fail(c, KILN_ERROR_UNSUPPORTED, "%s: reading the script takes too long", script);
        else if (!json_is_object(*answer))
            code = cli_fail(c, KILN_ERROR_UNSUPPORTED,
                            "%s: the program that reads scripts (python3) ended with an error, status %d", script,
                            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    const char *error = code ? NULL : json_string_value(json_object_get(*answer, "error"));
    if (error)
        code = cli_fail(c, KILN_ERROR_UNSUPPORTED, "%s", error);
    if (from)
        fclose(from);
    if (to)
        fclose(to);
    return code;
}

/* Returns true if a file has exactly this text. */
static bool is_same_text(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "rb");
    char *have = file ? cli_alloc(length + 1) : NULL;
    const bool same = file && fread(have, 1, length + 1, file) == length && memcmp(have, text, length) == 0;
    if (file)
        fclose(file);
    return same;
}

/* Writes the files that belong to the spec, in its folder. A file that already has this text is not touched. Returns 0
 * or the exit code. */
static int write_files(cli *c, json_t *files, const char *folder)
{
    const char *name;
    json_t *text;
    struct stat info;
    json_object_foreach(files, name, text)
    {
        const char *path = strcmp(folder, ".") == 0 ? name : cli_printf("%s/%s", folder, name);
        if (strchr(name, '/'))
            return cli_fail(c, KILN_ERROR_IO, "%s is no name of a file", name);
        if (lstat(path, &info) == 0 && is_same_text(path, json_string_value(text), json_string_length(text)))
            continue;
        if (lstat(path, &info) == 0)
            return cli_fail(c, KILN_ERROR_IO, "%s exists already, and is not overwritten", path);
        int code = cli_write_file(c, path, json_string_value(text), json_string_length(text));
        if (code)
            return code;
        if (!c->output.json)
            out_printf("%s is written too.\n", path);
    }
    return 0;
}

/* Returns true if one of the files is a program that computes the inputs of the spec. */
static bool makes_inputs(json_t *files)
{
    const char *name;
    json_t *text;
    json_object_foreach(files, name, text)
    {
        const char *at = strstr(name, "_inputs.py");
        if (at && !at[sizeof "_inputs.py" - 1])
            return true;
    }
    return false;
}

/* Runs the default configuration with the tiny sizes. If the run fails, prints the reason for the failure. */
static void try_spec(cli *c, const kiln_spec *spec)
{
    kiln_plan *plan = NULL;
    kiln_error *error = NULL;
    const kiln_result *result = NULL;
    kiln_choice choice = {.size_set = "tiny"};
    kiln_run_options options = {
        .size = sizeof options, .flags = KILN_RUN_NO_MEASURE | KILN_RUN_NO_VERIFY, .sample_timeout = 20};
    kiln_status status = kiln_plan_open(c->engine, spec, &choice, &plan, &error);
    if (status == KILN_OK)
        status = kiln_plan_run(plan, &options, &result, &error);
    kiln_plan_close(plan);
    if (status != KILN_OK)
        cli_complain(cli_printf("check: a trial run with the tiny sizes ended with: %s", kiln_error_message(error)));
    kiln_error_free(error);
}

/* Drafts a spec from a script for Kernel Tuner. Evaluates the script with a stand-in for the tuner, and writes the spec
 * and the files that belong to it. Returns the exit code. */
int init_from_script(cli *c, const char *script, const char *to, const char *folder)
{
    const init_args *args = c->args;
    char whole[PATH_MAX], base[PATH_MAX];
    json_t *answer = NULL;
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    const char *source_folder = strrchr(script, '/') ? cli_strndup(script, (size_t)(strrchr(script, '/') - script))
                                                     : ".";
    if (to && realpath(source_folder, whole) && realpath(folder, base) && strcmp(whole, base) != 0)
        return cli_usage(c, "the spec of a script must be in the script's folder, beside the kernel: -o %s/%s",
                         source_folder, strrchr(to, '/') ? strrchr(to, '/') + 1 : to);
    int code = cli_engine(c, &args->engine);
    if (!code)
        code = read_script(c, script, &answer);
    json_t *files = json_object_get(answer, "files");
    const char *text = json_string_value(json_object_get(answer, "spec"));
    const char *name = to ? to : cli_printf("%s/script.yaml", source_folder);
    if (!code && json_object_size(files) > 0 && !to)
        code = cli_usage(c, "the spec of %s needs files beside it (its kernel, or a reference in Python): give -o FILE",
                         script);
    if (!code && kiln_spec_parse(c->engine, text, strlen(text), name, &spec, &error) != KILN_OK)
        code = cli_error(c, error);
    kiln_spec_free(spec);
    spec = NULL;
    if (!code && to)
        code = write_files(c, files, folder);
    if (!code && to)
        code = cli_write_file(c, to, text, strlen(text));
    if (!code && to) {
        if (kiln_spec_load(c->engine, to, &spec, &error) != KILN_OK)
            code = cli_error(c, error);
        else if (!makes_inputs(files)) /* if a program must first compute the inputs, the spec cannot be tried yet */
            try_spec(c, spec);
        kiln_spec_free(spec);
    }
    if (!code && c->output.json) {
        js_set(answer, "file", to ? js_text(to) : json_null());
        js_print(json_incref(answer));
    } else if (!code && to) {
        out_printf("%s is written. Read its comments, then: kiln tune %s%s%s\n", to, cli_shell_word(to),
                   cli_spec_options(&args->engine),
                   !args->engine.allow_commands && strstr(text, "{command: ") ? " --allow-commands" : "");
    } else if (!code) {
        out_write(text, strlen(text));
    }
    json_decref(answer);
    return code;
}
