/* sim_run.c - kiln sim run and kiln sim env: start a program or a shell with the CUDA libraries of the simulated
 * device. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "findings.h"
#include "program.h"
#include "sim.h"

enum { NOT_STARTED = 125, NOT_FOUND = 127 }; /* the exit codes that env(1) and shells use in these cases */

/* Returns the folder that contains libcuda.so.1, in the build tree or in the installation. */
static const char *library_folder(void)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    const char *places[] = {cli_printf("%s/../lib/kiln", self), cli_printf("%s/../" KILN_LIBDIR "/kiln", self),
                            KILN_FULL_LIBDIR "/kiln"};
    for (size_t i = 0; i < CLI_COUNT(places); i++) {
        char *real = realpath(places[i], NULL);
        const char *folder = real ? cli_printf("%s", real) : NULL;
        free(real);
        if (folder && access(cli_printf("%s/libcuda.so.1", folder), R_OK) == 0)
            return folder;
    }
    return NULL;
}

/* Returns the absolute path of a file. The program may change its folder before it uses the path. */
static const char *absolute(const char *path)
{
    char here[PATH_MAX];
    return path[0] != '/' && getcwd(here, sizeof here) ? cli_printf("%s/%s", here, path) : path;
}

static const char *in_front(const char *folder, const char *variable)
{
    const char *before = getenv(variable);
    return before && *before ? cli_printf("%s:%s", folder, before) : folder;
}

typedef struct setting {
    const char *name, *value;
} setting;
enum { SETTINGS_MOST = 15 };

static bool records(const cli *c)
{
    const sim_args *args = c->args;
    return args->profile || args->trace_to;
}

/* Returns true if this command shows the findings of the checks itself, after the program has ended. Returns false if
 * the environment requests another format or another file for findings. */
static bool collects(const cli *c)
{
    const char *format = getenv("KILN_SIM_CHECK_FORMAT"), *file = getenv("KILN_SIM_CHECK_FILE");
    return ((const sim_args *)c->args)->check && !(format && *format) && !(file && *file);
}

/* Returns the profile of the device that has an architecture such as "sm_90". Returns `name` itself if no profile has
 * this architecture. */
static const char *profile_of_arch(const char *name)
{
    const char *device = cli_printf("sim:%s", name), *profile = name;
    const kiln_options options = {.size = sizeof options, .device = device};
    const kiln_device_info *info = NULL;
    kiln_engine *engine = NULL;
    if (kiln_engine_open(&options, &engine, NULL) == KILN_OK && kiln_engine_device(engine, &info, NULL) == KILN_OK)
        profile = strncmp(info->id, "sim:", 4) == 0 ? cli_printf("%s", info->id + 4) : name;
    kiln_engine_close(engine);
    return profile;
}

/* Returns the name of the simulated device's profile. The user names it by --device, with or without `sim:`, as in
 * every other command. An estimate needs a profile with figures, so an H200 is the default for estimates. */
static const char *device_of(const cli *c)
{
    const sim_args *args = c->args;
    const char *set = getenv("KILN_SIM_DEVICE");
    if (args->device && strcmp(args->device, "sim") == 0)
        return "generic";
    if (args->device) {
        const char *profile = strncmp(args->device, "sim:", 4) == 0 ? args->device + 4 : args->device;
        return strncmp(profile, "sm_", 3) == 0 ? profile_of_arch(profile) : profile;
    }
    return set && *set ? NULL : records(c) ? "h200" : NULL;
}

/* The files that the processes of a program write; NULL means that a file is not written. */
typedef struct record_files {
    const char *profile, *trace, *findings;
} record_files;

static size_t settings(const cli *c, const char *folder, const record_files *files, setting *to)
{
    const sim_args *args = c->args;
    size_t count = 0;
    to[count++] = (setting){"LD_LIBRARY_PATH", in_front(folder, "LD_LIBRARY_PATH")};
    to[count++] = (setting){"PATH", in_front(cli_printf("%s/bin", folder), "PATH")};
    /* CMake searches this folder first, so find_package(CUDAToolkit) finds Kiln's libraries, for example for
     * CUDA::cudart_static */
    to[count++] = (setting){"CMAKE_LIBRARY_PATH", in_front(folder, "CMAKE_LIBRARY_PATH")};
    if (device_of(c))
        to[count++] = (setting){"KILN_SIM_DEVICE", device_of(c)};
    if (files->profile)
        to[count++] = (setting){"KILN_SIM_PROFILE", files->profile};
    if (files->trace)
        to[count++] = (setting){"KILN_SIM_TRACE", files->trace};
    if (records(c) && args->counters)
        to[count++] = (setting){"KILN_SIM_PROFILE_COUNTERS", "1"};
    if (records(c) && args->every_launch)
        to[count++] = (setting){"KILN_SIM_PROFILE_LAUNCHES", "0"};
    if (args->devices)
        to[count++] = (setting){"KILN_SIM_DEVICES", cli_printf("%u", (unsigned)args->devices)};
    if (args->check)
        to[count++] = (setting){"KILN_SIM_CHECK", "1"};
    if (args->check && args->suppress)
        to[count++] = (setting){"KILN_SIM_CHECK_SUPPRESS", absolute(args->suppress)};
    if (files->findings) {
        to[count++] = (setting){"KILN_SIM_CHECK_FORMAT", "json"};
        to[count++] = (setting){"KILN_SIM_CHECK_FILE", files->findings};
    } else if (args->check && !getenv("KILN_SIM_CHECK_EXIT")) {
        /* the program's processes end with the exit code that `kiln check` has */
        to[count++] = (setting){"KILN_SIM_CHECK_EXIT", "1"};
    }
    return count;
}

static int no_libraries(void)
{
    fprintf(stderr,
            "kiln sim: there is no libcuda.so.1 beside this command: Kiln was built or installed without the "
            "simulated device's libraries. Install the package kiln-sim, or in a clone run tools/build.sh release\n");
    return NOT_STARTED;
}

/* Returns true if libcuda finds the profile that KILN_SIM_DEVICE names; otherwise libcuda prints a message. A child
 * process asks libcuda, because only libcuda knows in which folders profiles are. Without this test, a program that
 * ignores CUDA's errors would end with success, although the simulated device had checked nothing. */
static bool is_device(const char *folder)
{
    enum { UNKNOWN_DEVICE = 101 }; /* CUDA_ERROR_INVALID_DEVICE */
    static const char *const recordings[] = {"KILN_SIM_CHECK", "KILN_SIM_PROFILE", "KILN_SIM_TRACE"};
    const char *device = getenv("KILN_SIM_DEVICE");
    if (!device || !*device)
        return true;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < CLI_COUNT(recordings); i++)
            unsetenv(recordings[i]); /* this process itself must leave no file */
        void *library = dlopen(cli_printf("%s/libcuda.so.1", folder), RTLD_NOW | RTLD_LOCAL);
        int (*start_driver)(unsigned) = NULL;
        if (library)
            *(void **)&start_driver = dlsym(library, "cuInit");
        _exit(start_driver && start_driver(0) == UNKNOWN_DEVICE);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return !(child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

/* Returns the value in quotation marks for a shell. */
static const char *quoted(const char *value)
{
    char *to = cli_alloc(4 * strlen(value) + 3), *at = to;
    *at++ = '\'';
    for (; *value; value++)
        if (*value == '\'') {
            memcpy(at, "'\\''", 4);
            at += 4;
        } else {
            *at++ = *value;
        }
    *at++ = '\'';
    *at = '\0';
    return to;
}

int sim_env(const cli *c)
{
    const sim_args *args = c->args;
    setting all[SETTINGS_MOST];
    const char *folder = library_folder();
    if (!folder)
        return no_libraries();
    const char *to = args->output_to ? args->output_to : "kiln-profile.%p.json";
    const record_files files = {.profile = args->profile ? to : NULL, .trace = args->trace_to};
    size_t count = settings(c, folder, &files, all);
    if (device_of(c))
        setenv("KILN_SIM_DEVICE", device_of(c), 1);
    if (!is_device(folder))
        return NOT_STARTED;
    for (size_t i = 0; i < count; i++)
        out_printf("export %s=%s\n", all[i].name, quoted(all[i].value));
    return 0;
}

/* ---- the program that `kiln sim run` starts ---- */

/* Finds a program as a shell does. Returns NULL if no folder of PATH contains the program. */
static const char *find_program(const char *name)
{
    if (strchr(name, '/'))
        return name;
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at;) {
        size_t length = strcspn(at, ":");
        const char *whole = length ? cli_printf("%.*s/%s", (int)length, at, name) : cli_printf("./%s", name);
        if (access(whole, X_OK) == 0)
            return whole;
        at += length + (at[length] == ':');
    }
    return NULL;
}

static bool read_program(const char *path, program *p)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
        fprintf(stderr, "kiln sim run: %s: %s\n", path, file < 0 ? strerror(errno) : "is no file");
        if (file >= 0)
            close(file);
        return false;
    }
    void *bytes = info.st_size > 0 ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    program_read(p, bytes == MAP_FAILED ? "" : bytes, bytes == MAP_FAILED ? 0 : (size_t)info.st_size);
    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)info.st_size);
    return true;
}

/* Returns NULL if the simulated device can run the program. Otherwise returns the reason why it cannot run the program,
 * and the remedy. */
static const char *why_not_runnable(const program *p, const char *folder)
{
    if (p->kind == PROGRAM_DAMAGED || p->kind == PROGRAM_FOREIGN)
        return p->wrong;
    if (p->kind == PROGRAM_NVIDIA)
        return cli_printf(
            "it contains NVIDIA's static CUDA runtime, which works only with NVIDIA's driver. Link it again with "
            "`-cudart shared`, or with Kiln's static runtime: `-L%s`",
            folder);
    if (p->kind == PROGRAM_SHARED && strcmp(p->runtime, "libcudart.so.12") != 0 &&
        strcmp(p->runtime, "libcudart.so.13") != 0)
        return cli_printf("it needs %s; Kiln has libcudart.so.12 and libcudart.so.13. Build it with CUDA 12 or 13",
                          p->runtime);
    if (p->binaries > 0 && p->ptx == 0)
        return "it contains its kernels only as machine code, and the simulated device runs PTX. Compile it so that "
               "it contains PTX: nvcc -arch=sm_80, or -gencode arch=compute_80,code=compute_80";
    if (p->is_static && p->kind != PROGRAM_OTHER)
        return "it is linked statically, so it cannot load the simulated libcuda. Link it dynamically";
    return NULL;
}

static const char *describe_program(const program *p)
{
    switch (p->kind) {
    case PROGRAM_SHARED: return cli_printf("CUDA runtime, %s", p->runtime);
    case PROGRAM_KILN: return "contains Kiln's CUDA runtime";
    case PROGRAM_DRIVER: return "CUDA driver API";
    case PROGRAM_PLAIN: return "no CUDA in the program itself";
    default: return "no ELF program";
    }
}

/* Returns the reason why the command cannot run the program with these options, or NULL if it can. */
static const char *wrong_options(const cli *c)
{
    const sim_args *args = c->args;
    if (args->counters && !args->profile)
        return "--counters needs --profile";
    if (args->every_launch && !records(c))
        return "--every-launch needs --profile or --trace";
    if (args->output_to && !args->profile)
        return "--output needs --profile";
    if ((args->details_to || args->sarif_to || args->suppress) && !args->check)
        return "--details, --sarif and --suppress need --check";
    if ((args->details_to || args->sarif_to) && !collects(c))
        return "--details and --sarif need findings in the format of Kiln: unset KILN_SIM_CHECK_FORMAT and KILN_SIM_CHECK_FILE";
    return NULL;
}

static void start(const char *path, char **arguments)
{
    signal(SIGPIPE, SIG_DFL); /* main() has set these signals to be ignored, and the program would inherit this */
    signal(SIGXFSZ, SIG_DFL);
    execv(path, arguments);
    fprintf(stderr, "kiln sim run: %s: %s\n", path, strerror(errno));
}

/* ---- waiting for the program ---- */

static volatile sig_atomic_t child;

/* Passes a signal on to the program. A terminal sends its signals to the program too, so these are not passed on. Other
 * signals reach only this process, so the handler passes them on. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code <= 0)
        kill((pid_t)child, number);
}

static const int passed[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/* Starts the program and waits until it ends. Returns false if no process could be made. */
static bool run_program(const char *path, char **arguments, sim_end *end)
{
    sigset_t these, before;
    sigemptyset(&these);
    for (size_t i = 0; i < CLI_COUNT(passed); i++)
        sigaddset(&these, passed[i]);
    fflush(NULL);
    sigprocmask(SIG_BLOCK, &these, &before);
    const pid_t started = fork();
    if (started == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        start(path, arguments);
        _exit(errno == ENOENT ? NOT_FOUND : NOT_STARTED);
    }
    child = (sig_atomic_t)started;
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    for (size_t i = 0; started > 0 && i < CLI_COUNT(passed); i++)
        sigaction(passed[i], &action, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    int status = 0;
    while (started > 0 && waitpid(started, &status, 0) < 0 && errno == EINTR)
        continue;
    for (size_t i = 0; started > 0 && i < CLI_COUNT(passed); i++)
        signal(passed[i], SIG_IGN); /* ignored, because the program has ended and the remaining work is short */
    *end = (sim_end){.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                     .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    return started > 0;
}

/* Ends this process as the program ended: with the same exit code, or by the same signal but without a core file. */
static int end_as(const sim_end *end)
{
    if (!end->signal)
        return end->code;
    const struct rlimit none = {0};
    sigset_t it;
    sigemptyset(&it);
    sigaddset(&it, end->signal);
    setrlimit(RLIMIT_CORE, &none);
    signal(end->signal, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &it, NULL);
    raise(end->signal);
    return 128 + end->signal;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void list_files(const char *folder, const char *prefix, cli_list *files)
{
    DIR *open = opendir(folder);
    for (const struct dirent *entry; open && (entry = readdir(open));)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            cli_list_add(files, cli_printf("%s/%s", folder, entry->d_name));
    if (open)
        closedir(open);
    if (files->count)
        qsort(files->items, files->count, sizeof *files->items, by_name);
}

static void remove_files(const cli_list *files)
{
    for (size_t i = 0; i < files->count; i++)
        unlink(files->items[i]);
}

/* Opens the file that an option names, before the program runs. Returns -1 after a message if the file cannot be
 * opened. */
static int open_result(const char *option, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        fprintf(stderr, "kiln sim run: %s: %s: %s\n", option, path, strerror(errno));
    return fd;
}

/* Writes all findings in full to the file of --details. */
static int write_details(const cli *c, const findings *found, int to)
{
    const int before = dup(STDOUT_FILENO);
    if (before < 0 || dup2(to, STDOUT_FILENO) < 0)
        return NOT_STARTED;
    out_start();
    if (c->output.json) {
        json_t *object = js_object();
        js_set(object, "findings", findings_json(found));
        js_set(object, "suppressed", js_whole(found->suppressed));
        js_set(object, "dropped", js_whole(found->dropped));
        js_set(object, "starved", json_boolean(found->starved));
        out_start_json();
        js_print(object);
    } else {
        findings_text(found, true, false);
    }
    out_flush();
    const int error = out_error();
    dup2(before, STDOUT_FILENO);
    close(before);
    if (!error)
        return 0;
    cli_complain(cli_printf("%s: %s", ((const sim_args *)c->args)->details_to, strerror(error)));
    return cli_exit_code(KILN_ERROR_IO);
}

/* Returns the file that stands for findings without a source line, such as leaks. If the program is an interpreter,
 * this file should be its script. Therefore the file is the first argument that names a file below the current folder.
 * If no argument names such a file, the result is the program itself. */
static const char *program_file(const cli *c)
{
    struct stat info;
    for (size_t i = 1; i < c->words.count; i++) {
        const char *word = c->words.items[i];
        if (word[0] != '/' && strncmp(word, "../", 3) != 0 && stat(word, &info) == 0 && S_ISREG(info.st_mode))
            return word + (strncmp(word, "./", 2) == 0 ? 2 : 0);
    }
    return c->words.items[1];
}

/* The descriptors to which results are written, opened before the program began. -1 means that the user did not ask for
 * this result. */
typedef struct result_places {
    int profile, trace, details;
    bool findings; /* true: the processes of the program write findings for this command */
} result_places;

/* Shows the findings on standard error, and writes the files that the user asked for. Returns CLI_FOUND if there are
 * findings other than notes; otherwise 0, or the exit code of an error. */
static int show_findings(const cli *c, const char *folder, int details, const sim_end *end)
{
    const sim_args *args = c->args;
    findings found = {0};
    cli_list files = {0};
    size_t unread = 0;
    int code;
    list_files(folder, "findings.", &files);
    for (size_t i = 0; i < files.count; i++)
        if (!findings_read(&found, files.items[i]))
            unread++;
    findings_read_sources(&found, program_file(c));
    code = unread ? cli_exit_code(KILN_ERROR_IO) : 0;
    remove_files(&files);
    if (details >= 0) {
        const int failed = write_details(c, &found, details);
        code = failed ? failed : code;
    }
    if (args->sarif_to) {
        const int failed = findings_write_sarif(c, &found, args->sarif_to, program_file(c));
        code = failed ? failed : code;
    }
    if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) {
        out_start();
        if (!files.count)
            out_puts("kiln checks: no process used the simulated device, or none could write its findings\n");
        else
            findings_summary(&found);
        if (unread)
            out_printf("  The findings of %s process%s could not be read.\n", cli_whole(unread),
                       unread == 1 ? "" : "es");
        if (end->signal)
            out_printf("  The program was ended by signal %d, so leaks and the last launch may be missing.\n",
                       end->signal);
        out_flush();
    }
    return findings_severe(&found) ? CLI_FOUND : code;
}

/* Writes the findings, the profile and the traces to the descriptors `to`. Standard output belongs to the program, so
 * the command does not write its own results to it. Returns 0, or the exit code that follows from the findings. */
static int show(const cli *c, const char *folder, const result_places *to, const sim_end *end)
{
    const sim_args *args = c->args;
    cli_list profiles = {0}, traces = {0};
    list_files(folder, "profile.", &profiles);
    list_files(folder, "trace.", &traces);
    const int code = to->findings ? show_findings(c, folder, to->details, end) : 0;
    if (args->profile && dup2(to->profile, STDOUT_FILENO) >= 0) {
        out_start(); /* finds out again whether standard output, which is now `to->profile`, is a terminal */
        if (c->output.json)
            out_start_json();
        sim_profile_show(c, &profiles, end);
        out_flush();
    }
    if (to->trace >= 0)
        sim_trace_join(&traces, to->trace);
    remove_files(&profiles);
    remove_files(&traces);
    rmdir(folder);
    return code;
}

static int run_recorded(const cli *c, const char *folder, bool with_findings, const char *path, char **arguments)
{
    const sim_args *args = c->args;
    const result_places to = {.profile = args->output_to ? open_result("--output", args->output_to) : STDERR_FILENO,
                              .trace = args->trace_to ? open_result("--trace", args->trace_to) : -1,
                              .details = args->details_to ? open_result("--details", args->details_to) : -1,
                              .findings = with_findings};
    const int sarif = args->sarif_to ? open_result("--sarif", args->sarif_to)
                                     /* result files are opened here, so that an error is reported before the program
                                      * runs */
                                     : STDERR_FILENO;
    if (to.profile < 0 || (args->trace_to && to.trace < 0) || (args->details_to && to.details < 0) || sarif < 0) {
        rmdir(folder);
        return NOT_STARTED;
    }
    if (sarif != STDERR_FILENO)
        close(sarif);
    sim_end end = {0};
    const bool ran = run_program(path, arguments, &end);
    if (!ran)
        fprintf(stderr, "kiln sim run: no process for %s: %s\n", path, strerror(errno));
    const int code = show(c, folder, &to, &end);
    if (!ran)
        return NOT_STARTED;
    return end.signal || !code ? end_as(&end) : code;
}

/* Makes a temporary folder for the files of the program's processes. Returns NULL after a message if the folder cannot
 * be made. */
static const char *make_folder(void)
{
    const char *place = getenv("TMPDIR");
    char *folder = cli_printf("%s/kiln-sim-XXXXXX", place && *place ? absolute(place) : "/tmp");
    if (mkdtemp(folder))
        return folder;
    fprintf(stderr, "kiln sim run: %s: %s\n", folder, strerror(errno));
    return NULL;
}

/* Finds the program's file, and checks that the simulated device can run it. Returns NULL after a message if it cannot
 * be run; *code is then the exit code. */
static const char *choose_program(const cli *c, const char *folder, program *p, int *code)
{
    const char *word = c->words.items[1], *path = find_program(word);
    *code = NOT_FOUND;
    if (!path) {
        const char *dot = strrchr(word, '.');
        const bool source = dot && (strcmp(dot, ".cu") == 0 || strcmp(dot, ".cpp") == 0 || strcmp(dot, ".c") == 0);
        fprintf(stderr, "kiln sim run: %s: %s\n", word,
                source ? "is a source and not a program: compile it first, for example with "
                         "`nvcc -arch=sm_80 -lineinfo -cudart shared`"
                       : "there is no such program in $PATH; for a program in the current folder write ./NAME");
        return NULL;
    }
    if (!read_program(path, p))
        return NULL;
    const char *why = why_not_runnable(p, folder);
    if (!why)
        return path;
    fprintf(stderr, "kiln sim run: %s cannot run on the simulated device: %s.\n", path, why);
    *code = NOT_STARTED;
    return NULL;
}

int sim_run_program(const cli *c)
{
    const sim_args *args = c->args;
    const cli_list *words = &c->words;
    setting all[SETTINGS_MOST];
    program p;
    int code = 0;
    const char *folder = library_folder(), *wrong = wrong_options(c);
    if (wrong)
        return cli_usage(c, "%s", wrong);
    if (!folder)
        return no_libraries();
    findings rules = {0};
    if (args->suppress &&
        /* errors in the rules are reported here, before the program runs */
        !findings_read_rules(&rules, args->suppress))
        return NOT_STARTED;
    const bool recorded = records(c) || collects(c);
    const char *files = recorded ? make_folder() : NULL;
    if (recorded && !files)
        return NOT_STARTED;
    const record_files to = {.profile = args->profile ? cli_printf("%s/profile.%%p.json", files) : NULL,
                             .trace = args->trace_to ? cli_printf("%s/trace.%%p.json", files) : NULL,
                             .findings = collects(c) ? cli_printf("%s/findings.%%p.json", files) : NULL};
    size_t count = settings(c, folder, &to, all);
    for (size_t i = 0; i < count; i++)
        setenv(all[i].name, all[i].value, 1);
    const char *path = choose_program(c, folder, &p, &code), *device = getenv("KILN_SIM_DEVICE");
    if (path && !is_device(folder)) {
        fprintf(stderr, "kiln sim run: %s was not started\n", words->items[1]);
        path = NULL;
        code = NOT_STARTED;
    }
    if (!path) {
        if (files)
            rmdir(files);
        return code;
    }
    if (p.has_rpath && p.kind == PROGRAM_SHARED) /* the loader prefers DT_RPATH to LD_LIBRARY_PATH */
        setenv("LD_PRELOAD", cli_printf("%s/libcuda.so.1:%s/%s", folder, folder, p.runtime), 1);
    if (!c->output.quiet)
        fprintf(stderr, "kiln sim run: %s: %s%s; device %s\n", path, describe_program(&p),
                p.ptx ? ", kernels with PTX" : "", device && *device ? device : "generic");
    char **arguments = cli_alloc((words->count + 1) * sizeof *arguments);
    for (size_t i = 1; i < words->count; i++)
        arguments[i - 1] = cli_printf("%s", words->items[i]);
    for (size_t i = 1; i + 1 < words->count && !args->check && !c->output.quiet; i++)
        if (strcmp(arguments[i], "--check") == 0)
            cli_complain("sim run: the option --check goes to the program, because it follows the program's name; "
                         "write the options of kiln before the program");
    out_release();
    if (files)
        return run_recorded(c, files, to.findings != NULL, path, arguments);
    fflush(NULL);
    start(path, arguments);
    return errno == ENOENT ? NOT_FOUND : NOT_STARTED;
}
