/* judge_many.c - kiln judge with several candidates or devices: judges each pair of candidate and device in a separate
 * process, and gives one verdict for each candidate.
 *
 * The parent process never uses the library, so that it can fork at any time. A child process does everything that
 * `kiln judge` does for one candidate on one device, in its own sandbox. The child writes an object with the verdict to
 * an unnamed file. Therefore a candidate that crashes its child does not end the judgements of other candidates. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge.h"

enum { OUTPUT_MOST = 64 << 20 };

typedef struct answer { /* the answer for one candidate on one device */
    const char *device;
    int kind;                       /* the verdict, a kiln_judged; -1 means that an error occurred instead */
    const char *json, *page;        /* the verdict */
    const char *error, *error_text; /* the error as a JSON text, and the message of the error */
    int code;
} answer;

typedef struct judged { /* one candidate */
    const char *path;
    answer *answers; /* one answer for each device that was tried */
    size_t count;
    bool busy, done, cached; /* `cached` is true if every answer comes from the cache */
    /* digesting: the child computes the digest; digested: the digest of the next judgement is known, or cannot be
     * computed */
    bool digesting, digested;
    const char *file; /* the cache file for the next judgement; NULL means that this judgement is not kept */
    bool leads;       /* true: this judgement writes `file` */
    pid_t child;
    int fd; /* the file to which the child writes its output */
} judged;

typedef struct batch {
    judged *items;
    size_t count, printed;
    cli_list devices; /* the devices in the order in which they are tried; a NULL item means the default device */
    bool lines;       /* true: prints one line for each candidate */
    int code;
} batch;

static bool is_gpu(const char *device)
{
    const char *name = device ? device : cli_usual_device();
    return !name || strncmp(name, "cuda", 4) == 0; /* the default device may be a GPU too */
}

/* ---- the children ---- */

/* Starts a child whose output goes to the file *fd. Returns true in the child, and false in the parent. *child becomes
 * negative if no process could be made. */
static bool start_child(cli *c, pid_t *child, int *fd)
{
    const pid_t parent = getpid();
    *child = -1;
    *fd = memfd_create("verdict", MFD_CLOEXEC);
    if (*fd < 0)
        return false;
    out_flush(); /* otherwise the child would write the buffered bytes a second time */
    *child = fork();
    if (*child != 0)
        return false;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0); /* the parent died before this child asked for a signal at the death of its parent */
    out_collect(*fd);
    c->output.json = true;
    return true;
}

/* Reads the object that a child has written. Returns NULL if the output is not a JSON object. */
static json_t *read_output(int fd)
{
    struct stat info;
    json_t *object = NULL;
    if (fstat(fd, &info) == 0 && info.st_size > 0 && info.st_size < OUTPUT_MOST) {
        char *text = cli_alloc((size_t)info.st_size + 1);
        if (pread(fd, text, (size_t)info.st_size, 0) == info.st_size)
            object = json_loads(text, 0, NULL);
    }
    close(fd);
    return object;
}

static const char *get_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? cli_printf("%s", text) : NULL;
}

/* Makes an answer from the output of a child, and from the way in which the child ended. */
static answer take_answer(const char *device, int fd, int how)
{
    answer made = {.device = device, .kind = -1, .code = WIFEXITED(how) ? WEXITSTATUS(how) : 0};
    json_t *object = read_output(fd);
    const json_int_t kind = json_integer_value(json_object_get(object, "kind"));
    made.json = get_text(object, "json");
    made.page = get_text(object, "page");
    if (made.json && made.page && kind >= 0 && kind < KILN_JUDGED_KINDS && WIFEXITED(how)) {
        made.kind = (int)kind;
        made.code = judge_exit_code(made.kind);
    } else {
        json_t *error = json_object_get(object, "error");
        made.error_text = get_text(error, "message");
        if (made.error_text && made.code != 0) {
            made.error = js_dump(error, JSON_COMPACT);
        } else {
            made.error_text = "the process that judged the candidate ended without a verdict";
            made.code = cli_exit_code(KILN_ERROR_DEVICE);
            json_t *own = js_error(KILN_ERROR_DEVICE, made.error_text);
            made.error = js_dump(own, JSON_COMPACT);
            json_decref(own);
        }
    }
    json_decref(object);
    return made;
}

/* Opens every device in a child, because the parent must not use the library. Reports a device that does not exist
 * before any candidate is judged. *child becomes true in the child, which must then end with the returned code. */
static int check_devices(cli *c, const batch *all, bool *child)
{
    judge_args *args = c->args;
    pid_t pid;
    int fd, how = 0;
    *child = start_child(c, &pid, &fd);
    if (*child) {
        for (size_t i = 0; i < all->devices.count; i++) {
            const kiln_device_info *info;
            kiln_error *error = NULL;
            args->engine.device = all->devices.items[i];
            int code = cli_engine(c, &args->engine);
            if (code)
                return code;
            kiln_status status = kiln_engine_device(c->engine, &info, &error);
            if (status != KILN_OK)
                return cli_fail(c, status, "--device %s: %s", args->engine.device ? args->engine.device : "(default)",
                                kiln_error_message(error));
            kiln_engine_close(c->engine);
            c->engine = NULL;
        }
        return 0;
    }
    if (pid < 0)
        return cli_fail(c, KILN_ERROR_IO, "no process can be started: %s", strerror(errno));
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0) {
        close(fd);
        return 0;
    }
    const answer failed = take_answer(NULL, fd, how);
    if (c->output.json)
        out_json(cli_printf("{\"error\": %s}", failed.error));
    else
        cli_complain(failed.error_text);
    return failed.code;
}

/* ---- the verdict of a candidate ---- */

/* Returns how bad an answer is, so that the worst answer of a candidate can be found. An error is the worst answer,
 * because the candidate was then not judged. Undefined behaviour is worse than a wrong answer, and a wrong answer is
 * worse than an undecided judgement. */
static int rank_of(const answer *of)
{
    static const unsigned char ranks[KILN_JUDGED_KINDS] = {
        [KILN_JUDGED_PASS] = 0,      [KILN_JUDGED_UNDECIDED] = 1, [KILN_JUDGED_COMPILE] = 2,
        [KILN_JUDGED_LAUNCH] = 3,    [KILN_JUDGED_TIMEOUT] = 4,   [KILN_JUDGED_TOO_FAST] = 5,
        [KILN_JUDGED_STATE] = 6,     [KILN_JUDGED_UNWRITTEN] = 7, [KILN_JUDGED_WRONG] = 8,
        [KILN_JUDGED_INPUT] = 9,     [KILN_JUDGED_OUTSIDE] = 10,  [KILN_JUDGED_UNSAFE] = 11,
        [KILN_JUDGED_FORBIDDEN] = 12};
    return of->kind < 0 ? KILN_JUDGED_KINDS : ranks[of->kind];
}

static const answer *worst_of(const judged *item)
{
    const answer *worst = &item->answers[0];
    for (size_t i = 1; i < item->count; i++)
        if (rank_of(&item->answers[i]) > rank_of(worst))
            worst = &item->answers[i];
    return worst;
}

static const char *quote(const char *text)
{
    json_t *value = js_text(text);
    const char *made = js_dump(value, JSON_ENCODE_ANY | JSON_COMPACT);
    json_decref(value);
    return made;
}

/* Returns a JSON text without its newlines. A newline in JSON is only space between two tokens. */
static const char *on_one_line(const char *json)
{
    char *text = cli_strndup(json, strlen(json));
    for (char *at = text; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    for (size_t length = strlen(text); length && text[length - 1] == ' '; length--)
        text[length - 1] = '\0';
    return text;
}

/* Returns the verdict of a candidate as JSON: the verdict of the only device, or an object with the verdicts of all
 * devices. Returns NULL if there is an error instead of a verdict. */
static const char *verdict_json(const batch *all, const judged *item)
{
    const answer *worst = worst_of(item);
    const char *timed = NULL, *between = "", *list = "", *untried = "";
    if (worst->kind < 0)
        return NULL;
    if (all->devices.count == 1)
        return on_one_line(worst->json);
    for (size_t i = 0; i < item->count; i++) {
        /* quotes within JSON texts are escaped, so no text of a candidate can look like this member */
        if (!timed && strstr(item->answers[i].json, "\"times\": {\"kind\": \"measured\""))
            timed = item->answers[i].device;
        list = cli_printf("%s%s%s", list, between, on_one_line(item->answers[i].json));
        between = ", ";
    }
    for (size_t i = item->count; i < all->devices.count; i++)
        untried = cli_printf("%s%s%s", untried, *untried ? ", " : "", quote(all->devices.items[i]));
    return cli_printf("{\"schema\": \"kiln-verdicts-1\", \"verdict\": \"%s\", \"text\": \"%s\", \"device\": %s, "
                      "\"timed_device\": %s, \"untried\": [%s], \"devices\": [%s]}",
                      kiln_judged_word((kiln_judged)worst->kind), kiln_judged_text((kiln_judged)worst->kind),
                      quote(worst->device), timed ? quote(timed) : "null", untried, list);
}

/* Prints the verdict of a single candidate in full. */
static void print_one(const cli *c, const batch *all, const judged *item)
{
    const answer *worst = worst_of(item);
    const char *json = verdict_json(all, item);
    if (c->output.json) {
        out_json(json ? json : cli_printf("{\"error\": %s}", worst->error));
        return;
    }
    if (!json) {
        cli_complain(cli_printf("on %s: %s", worst->device, worst->error_text));
        return;
    }
    out_printf("%s: ", kiln_judged_word((kiln_judged)worst->kind));
    out_printf("%s%s%s\n", kiln_judged_text((kiln_judged)worst->kind), worst->kind == KILN_JUDGED_PASS ? "" : ", on ",
               worst->kind == KILN_JUDGED_PASS ? "" : worst->device);
    for (size_t i = 0; i < item->count; i++) {
        out_printf("\non %s\n", item->answers[i].device);
        out_puts(item->answers[i].page);
    }
    for (size_t i = item->count; i < all->devices.count; i++)
        out_printf("\nnot tried on %s, because of the verdict\n", all->devices.items[i]);
}

static void print_line(const batch *all, const judged *item)
{
    const answer *worst = worst_of(item);
    const char *json = verdict_json(all, item);
    out_json(cli_printf("{\"candidate\": %s, \"verdict\": %s, \"cached\": %s, \"result\": %s, \"error\": %s}",
                        quote(item->path), json ? quote(kiln_judged_word((kiln_judged)worst->kind)) : "null",
                        item->cached ? "true" : "false", json ? json : "null", json ? "null" : worst->error));
    out_flush();
}

/* Prints a table with one row for each candidate. The message of a row is the second line of the candidate's page. */
static void print_table(const batch *all)
{
    cli_table table;
    table_start(&table, "lll");
    table_cell(&table, "candidate");
    table_cell(&table, "verdict");
    table_cell(&table, "message");
    for (size_t i = 0; i < all->count; i++) {
        const answer *worst = worst_of(&all->items[i]);
        const char *message = "";
        if (worst->kind < 0)
            message = worst->error_text;
        else if (worst->kind != KILN_JUDGED_PASS && strchr(worst->page, '\n')) {
            message = strchr(worst->page, '\n') + 1;
            message += strspn(message, " ");
            message = cli_strndup(message, strcspn(message, "\n"));
        }
        table_cell(&table, "%s", cli_visible(all->items[i].path));
        table_cell(&table, "%s", worst->kind < 0 ? "error" : kiln_judged_word((kiln_judged)worst->kind));
        table_cell(&table, "%s%s%s", cli_visible(message), all->devices.count > 1 && *message ? ", on " : "",
                   all->devices.count > 1 && *message ? worst->device : "");
    }
    table_print(&table, true);
}

/* ---- the batch: all candidates on all devices ---- */

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Lists the candidates: files as they were named, and the files of folders that end in .cu, by name. */
static int list_candidates(const cli *c, batch *all)
{
    const judge_args *args = c->args;
    cli_list paths = {0};
    for (size_t i = 0; i < args->candidates.count; i++) {
        const char *path = args->candidates.items[i];
        struct stat info;
        const size_t from = paths.count;
        if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
            cli_list_add(&paths, path);
            continue;
        }
        DIR *folder = opendir(path);
        if (!folder)
            return cli_fail(c, KILN_ERROR_IO, "%s: the folder cannot be read: %s", path, strerror(errno));
        for (const struct dirent *entry; (entry = readdir(folder));) {
            const char *dot = strrchr(entry->d_name, '.');
            if (dot && dot != entry->d_name && strcmp(dot, ".cu") == 0)
                cli_list_add(&paths, cli_printf("%s/%s", path, entry->d_name));
        }
        closedir(folder);
        if (paths.count == from)
            return cli_fail(c, KILN_ERROR_NOT_FOUND, "%s: the folder has no file that ends in .cu", path);
        qsort(paths.items + from, paths.count - from, sizeof *paths.items, by_name);
    }
    all->items = cli_alloc((paths.count + 1) * sizeof *all->items);
    all->count = paths.count;
    for (size_t i = 0; i < paths.count; i++) {
        all->items[i].path = paths.items[i];
        all->items[i].cached = true;
        all->items[i].answers = cli_alloc(all->devices.count * sizeof *all->items[i].answers);
    }
    return 0;
}

/* Lists the devices of the batch. The simulated devices come first. The checks of a simulated device find undefined
 * behaviour before a GPU, which has no sandbox, runs the kernel. */
static int list_devices(const cli *c, batch *all)
{
    const judge_args *args = c->args;
    const char *text = args->engine.device;
    cli_list gpus = {0};
    while (text) {
        const size_t length = strcspn(text, ",");
        const char *name = cli_strndup(text, length);
        if (length == 0)
            return cli_usage(c, "--device has an empty name in '%s'", args->engine.device);
        for (size_t i = 0; i < all->devices.count + gpus.count; i++)
            if (strcmp(i < all->devices.count ? all->devices.items[i] : gpus.items[i - all->devices.count], name) == 0)
                return cli_usage(c, "--device names %s twice", name);
        cli_list_add(is_gpu(name) ? &gpus : &all->devices, name);
        text = text[length] ? text + length + 1 : NULL;
    }
    for (size_t i = 0; i < gpus.count; i++)
        cli_list_add(&all->devices, gpus.items[i]);
    if (all->devices.count == 0)
        cli_list_add(&all->devices, NULL);
    return 0;
}

/* Adds an answer to a candidate. A candidate with a fault is not tried on the other devices. */
static void add_answer(const batch *all, judged *item, answer made)
{
    item->answers[item->count++] = made;
    item->busy = item->digested = false;
    item->file = NULL;
    item->done = (made.kind != KILN_JUDGED_PASS && made.kind != KILN_JUDGED_UNDECIDED) ||
                 item->count == all->devices.count;
}

/* ---- the cache: a file for each digest, with the object that a child wrote ---- */

/* Sets the cache file of the next judgement from the output of the child that has computed the digest. This child ran
 * no kernel, so no candidate can choose the cache file of another candidate. */
static void take_digest(judged *item, int how)
{
    json_t *object = read_output(item->fd);
    const char *digest = get_text(object, "digest"), *folder = get_text(object, "folder");
    json_decref(object);
    item->digesting = item->busy = false;
    item->digested = true;
    item->file = NULL;
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0 || !digest || !folder || strlen(digest) != 32 || !*folder)
        return;
    const char *verdicts = cli_printf("%s/" JUDGE_FOLDER, folder);
    struct stat info;
    if ((mkdir(folder, 0700) != 0 && errno != EEXIST) || (mkdir(verdicts, 0700) != 0 && errno != EEXIST))
        return;
    /* if the folder belongs to another user, or if other users may write to it, its verdicts may be forged */
    if (lstat(verdicts, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
        (info.st_mode & (S_IWGRP | S_IWOTH)))
        return;
    item->file = cli_printf("%s/%s.json", verdicts, digest);
}

/* Takes the answer of the next judgement from its cache file. Returns false if there is no such file, or if its answer
 * cannot be used. */
static bool read_cache(const batch *all, judged *item)
{
    const char *text = item->file ? cli_read_file(item->file, OUTPUT_MOST, NULL) : NULL;
    json_t *object = text ? json_loads(text, 0, NULL) : NULL;
    const json_int_t kind = json_integer_value(json_object_get(object, "kind"));
    answer made = {.device = all->devices.items[item->count]};
    made.json = get_text(object, "json");
    made.page = get_text(object, "page");
    json_decref(object);
    if (!made.json || !made.page || kind < 0 || kind >= KILN_JUDGED_KINDS)
        return false;
    made.kind = (int)kind;
    made.code = judge_exit_code(made.kind);
    add_answer(all, item, made);
    return true;
}

/* Keeps an answer in the cache, unless the answer depends on the speed of this machine. If the answer cannot be
 * written, a later command will judge the candidate again. */
static void write_cache(const cli *c, const judged *item, const answer *of)
{
    kiln_error *error = NULL;
    if (!item->file || of->kind < 0 || of->kind == KILN_JUDGED_UNDECIDED || of->kind == KILN_JUDGED_TIMEOUT)
        return;
    json_t *object = js_object();
    js_set(object, "kind", js_whole((uint64_t)of->kind));
    js_set(object, "json", js_text(of->json));
    js_set(object, "page", js_text(of->page));
    const char *text = js_dump(object, JSON_COMPACT);
    json_decref(object);
    if (kiln_file_write(item->file, text, strlen(text), &error) != KILN_OK && !c->output.quiet)
        cli_complain(kiln_error_message(error));
    kiln_error_free(error);
}

/* Returns true if another candidate with the same digest is being judged at this time. This candidate then waits, and
 * takes the answer of the other candidate from the cache. */
static bool is_judged(const batch *all, const judged *item)
{
    for (size_t i = 0; i < all->count && item->file; i++)
        if (all->items[i].busy && all->items[i].leads && strcmp(all->items[i].file, item->file) == 0)
            return true;
    return false;
}

/* Takes the output of a child that has ended, and adds the answer to its candidate. */
static void finish(const cli *c, const batch *all, judged *item, int how)
{
    if (item->digesting) {
        take_digest(item, how);
        return;
    }
    const answer made = take_answer(all->devices.items[item->count], item->fd, how);
    write_cache(c, item, &made);
    item->cached = item->leads = false;
    add_answer(all, item, made);
}

/* Runs all judgements, at most `jobs` at a time. On GPUs only one judgement runs at a time, because a second judgement
 * would disturb the times. Unless verdicts are not kept, a judgement begins with a child that computes its digest.
 * Returns true in a child; *code is then the exit code of the child. */
static bool run_all(cli *c, batch *all, size_t jobs, int *code)
{
    judge_args *args = c->args;
    size_t running = 0, left = all->count;
    bool gpu = false; /* true: a judgement is using a GPU */
    while (left > 0) {
        for (size_t i = 0; i < all->count && running < jobs; i++) {
            judged *item = &all->items[i];
            const char *device = item->done ? NULL : all->devices.items[item->count];
            if (item->busy || item->done || (gpu && is_gpu(device)) || is_judged(all, item))
                continue;
            if (item->digested && read_cache(all, item)) {
                left -= item->done;
                i--; /* the loop visits this candidate again, on the next device */
                continue;
            }
            item->digesting = !item->digested && all->lines && !args->engine.no_cache;
            if (start_child(c, &item->child, &item->fd)) {
                args->engine.device = device;
                args->engine.jobs = 1;
                args->candidate = item->path;
                args->collected = true;
                *code = item->digesting ? judge_digest(c) : judge_alone(c);
                return true;
            }
            if (item->child < 0) {
                item->digesting = false;
                /* the process could not be started, which becomes an error of the candidate */
                finish(c, all, item, SIGKILL);
                left -= item->done;
                continue;
            }
            item->busy = true;
            item->leads = !item->digesting && item->file;
            running++;
            gpu = gpu || is_gpu(device);
        }
        int how = 0;
        const pid_t ended = running ? waitpid(-1, &how, 0) : -1;
        for (size_t i = 0; i < all->count && ended > 0; i++) {
            judged *item = &all->items[i];
            if (!item->busy || item->child != ended)
                continue;
            gpu = gpu && !is_gpu(all->devices.items[item->count]);
            finish(c, all, item, how);
            running--;
            left -= item->done;
        }
        for (; c->output.json && all->lines && all->printed < all->count && all->items[all->printed].done;)
            print_line(all, &all->items[all->printed++]);
    }
    return false;
}

int judge_many(cli *c)
{
    judge_args *args = c->args;
    struct stat info;
    batch all = {0};
    int code = list_devices(c, &all);
    code = code ? code : list_candidates(c, &all);
    if (code)
        return code;
    const bool folder = stat(args->candidate, &info) == 0 && S_ISDIR(info.st_mode);
    all.lines = args->candidates.count > 1 || folder;
    bool child;
    code = check_devices(c, &all, &child);
    if (child || code)
        return code;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (run_all(c, &all, args->engine.jobs ? (size_t)args->engine.jobs : cores > 0 ? (size_t)cores : 1, &code))
        return code;
    const answer *worst = worst_of(&all.items[0]);
    for (size_t i = 1; i < all.count; i++)
        if (rank_of(worst_of(&all.items[i])) > rank_of(worst))
            worst = worst_of(&all.items[i]);
    if (!all.lines)
        print_one(c, &all, &all.items[0]);
    else if (!c->output.json)
        print_table(&all);
    return worst->code;
}
