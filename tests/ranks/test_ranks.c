/* Tests the leader of a sweep of several processes. A list of messages imitates the other processes (ranks): programs
 * on other machines, leases, and ranks that are late or lost. The test decides the order of the messages, and sets the
 * clock. The suite also tests how a launcher is recognised. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "ranks_internal.h"

#define SECOND 1000000000ull

/* ---- a transport in memory ---- */

typedef struct parcel {
    int from, to;
    size_t length;
    char bytes[4096];
} parcel;
typedef struct post {
    parcel in[64], out[256]; /* messages to the leader, and messages from it */
    size_t in_count, in_taken, out_count, out_read;
} post;

static bool send_one(void *self, int to, const void *bytes, size_t length)
{
    post *p = self;
    if (p->out_count == KILN__COUNT(p->out) || length > sizeof p->out->bytes)
        return false;
    parcel *made = &p->out[p->out_count++];
    *made = (parcel){.from = 0, .to = to, .length = length};
    memcpy(made->bytes, bytes, length);
    return true;
}

static bool probe_one(void *self, double seconds, int *from, size_t *length)
{
    post *p = self;
    (void)seconds;
    if (p->in_taken == p->in_count)
        return false;
    *from = p->in[p->in_taken].from;
    *length = p->in[p->in_taken].length;
    return true;
}

static bool receive_one(void *self, void *bytes)
{
    post *p = self;
    memcpy(bytes, p->in[p->in_taken].bytes, p->in[p->in_taken].length);
    p->in_taken++;
    return true;
}

static void close_all(void *self, bool together)
{
    (void)self;
    (void)together;
}

/* ---- a leader of two ranks ---- */

typedef struct job {
    post post;
    kiln_ranks *ranks;
    char log[4096];
} job;

static void note(void *user, kiln_log_level level, const char *message)
{
    job *j = user;
    (void)level;
    size_t at = strlen(j->log);
    snprintf(j->log + at, sizeof j->log - at, "%s\n", message);
}

static void open_job(job *j)
{
    kiln_error *error = NULL;
    memset(j, 0, sizeof *j);
    j->ranks = calloc(1, sizeof *j->ranks);
    *j->ranks = (kiln_ranks){.lease = 10,
                             .wake = -1,
                             .log = {note, j},
                             .buffer = malloc(KILN__RELAY_CHUNK),
                             .transport = {.version = KILN__TRANSPORT_VERSION,
                                           .size = 3,
                                           .self = &j->post,
                                           .send = send_one,
                                           .probe = probe_one,
                                           .receive = receive_one,
                                           .close = close_all}};
    CHECK_OK(kiln__leader_open(j->ranks, false, &error), error);
}

/* Sends a message from a rank. */
static void say(job *j, int rank, kiln__text *text)
{
    parcel *made = &j->post.in[j->post.in_count++];
    *made = (parcel){.from = rank, .length = text->length};
    memcpy(made->bytes, text->data, text->length);
    kiln__text_free(text);
    *text = (kiln__text){0};
}

static void hello(job *j, int rank)
{
    kiln__text text = {0};
    kiln__rank_info info;
    memset(&info, 0, sizeof info);
    snprintf(info.host, sizeof info.host, "node%d, Linux", rank);
    snprintf(info.device.id, sizeof info.device.id, "cuda:%d", rank);
    snprintf(info.device.name, sizeof info.device.name, "a GPU");
    info.jobs = 4;
    kiln__relay_write_hello(&text, &info);
    say(j, rank, &text);
}

static void beat(job *j, int rank)
{
    kiln__text text = {0};
    kiln__relay_write(&text, KILN__RELAY_BEAT, 0);
    say(j, rank, &text);
}

static void say_data(job *j, int rank, uint64_t channel, const char *bytes)
{
    kiln__text text = {0};
    kiln__relay_write_data(&text, channel, bytes, strlen(bytes));
    say(j, rank, &text);
}

/* Returns the leader's next message that is not a heartbeat. Its bytes stay in place. Returns false if no message is
 * there. */
static bool next(job *j, int *to, kiln__relayed *message)
{
    kiln__rank_info info;
    while (j->post.out_read < j->post.out_count) {
        const parcel *at = &j->post.out[j->post.out_read++];
        *to = at->to;
        CHECK(kiln__relay_read(at->bytes, at->length, message, &info));
        if (message->kind != KILN__RELAY_BEAT)
            return true;
    }
    return false;
}

static void step(job *j, uint64_t now)
{
    while (kiln__leader_step(j->ranks, now))
        continue;
}

static kiln__child child_of(job *j, int rank)
{
    return (kiln__child){.socket = -1, .pidfd = -1, .wake = -1, .place = kiln__ranks_place(j->ranks, rank)};
}

static const char *const program[] = {"kiln-worker", "--parent", "7", "--run", "1", NULL};

/* ---- tests ---- */

static void test_program(void)
{
    job j;
    int to;
    char got[64] = "";
    kiln__relayed message;
    open_job(&j);
    hello(&j, 1);
    hello(&j, 2);
    step(&j, SECOND);
    CHECK(kiln__ranks_info(j.ranks, 1) && kiln__ranks_info(j.ranks, 2) && !kiln__ranks_info(j.ranks, 0) &&
          !kiln__ranks_info(j.ranks, 3));
    CHECK_TEXT(kiln__ranks_place(j.ranks, 2)->name, "rank 2 (node2, cuda:2)");
    kiln__child child = child_of(&j, 2);
    CHECK(kiln__child_start(&child, program) == 0 && child.socket >= 0);
    CHECK(send(child.socket, "question", 8, 0) == 8);
    step(&j, SECOND);
    CHECK(next(&j, &to, &message) && to == 2 && message.kind == KILN__RELAY_START);
    uint64_t channel = message.channel;
    CHECK_TEXT(message.arguments[0], "kiln-worker");
    CHECK_TEXT(message.arguments[4], "1");
    CHECK(!message.arguments[5]);
    CHECK(next(&j, &to, &message) && to == 2 && message.kind == KILN__RELAY_DATA && message.channel == channel);
    CHECK(message.length == 8 && memcmp(message.bytes, "question", 8) == 0);
    CHECK(!next(&j, &to, &message));

    say_data(&j, 2, channel, "ans");
    say_data(&j, 1, channel, "not its"); /* the channel belongs to another rank */
    say_data(&j, 2, channel, "wer");
    kiln__text text = {0};
    kiln__relay_write_ended(&text, channel, 9); /* killed */
    say(&j, 2, &text);
    step(&j, 2 * SECOND);
    CHECK(recv(child.socket, got, sizeof got, 0) == 6);
    CHECK_TEXT(got, "answer");
    CHECK(recv(child.socket, got, sizeof got, 0) == 0); /* all of the rank's messages come before its end */
    CHECK(kiln__child_end_closed(&child) == 9 && child.socket == -1);
    CHECK(!kiln__child_place_gone(&child));
    step(&j, 2 * SECOND);
    CHECK(!next(&j, &to, &message)); /* the rank has ended, so nobody needs to end it */
    CHECK(j.ranks->late == 1);
    kiln_ranks_close(j.ranks);
}

static void test_ended_here(void)
{
    job j;
    int to;
    kiln__relayed message;
    open_job(&j);
    hello(&j, 1);
    step(&j, SECOND);
    kiln__child child = child_of(&j, 1), other = child_of(&j, 1);
    CHECK(kiln__child_start(&child, program) == 0);
    CHECK(kiln__child_end(&child) == -1);
    CHECK(kiln__child_start(&other, program) == 0);
    step(&j, SECOND);
    CHECK(next(&j, &to, &message) && message.kind == KILN__RELAY_START);
    uint64_t first = message.channel;
    CHECK(next(&j, &to, &message) && message.kind == KILN__RELAY_END && message.channel == first);
    CHECK(next(&j, &to, &message) && message.kind == KILN__RELAY_START && message.channel != first);
    say_data(&j, 1, first, "late"); /* an answer to an abandoned request; the next request must not get it */
    step(&j, SECOND);
    CHECK(kiln__child_is_gone(&other) == false);
    CHECK(j.ranks->late == 1);
    kiln__child_end(&other);
    kiln_ranks_close(j.ranks);
}

static void test_lost(void)
{
    job j;
    int to;
    char byte;
    kiln__relayed message;
    open_job(&j);
    hello(&j, 1);
    hello(&j, 2);
    step(&j, SECOND);
    kiln__child lost = child_of(&j, 1), kept = child_of(&j, 2);
    CHECK(kiln__child_start(&lost, program) == 0 && kiln__child_start(&kept, program) == 0);
    step(&j, SECOND);
    CHECK(next(&j, &to, &message) && to == 1);
    uint64_t channel = message.channel;
    CHECK(next(&j, &to, &message) && to == 2);
    step(&j, 6 * SECOND);
    beat(&j, 2);
    step(&j, 10 * SECOND);
    CHECK(!kiln__child_place_gone(&lost)); /* 9 of the 10 seconds of the lease have passed */
    CHECK_TEXT(j.log, "");
    step(&j, 12 * SECOND);
    CHECK(kiln__child_place_gone(&lost) && !kiln__child_place_gone(&kept));
    CHECK(recv(lost.socket, &byte, 1, MSG_DONTWAIT) == 0);
    CHECK(recv(kept.socket, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
    CHECK_TEXT(
        j.log,
        "rank 1 (node1, cuda:1) has sent no message for 10 s: the sweep continues without this process, and other "
        "processes do its work\n");
    CHECK(kiln__child_start(&(kiln__child){.socket = -1, .place = lost.place}, program) == EHOSTDOWN);
    CHECK(!next(&j, &to, &message));

    /* The rank was only suspended for a while. It gets QUIT, and its answer is dropped. */
    say_data(&j, 1, channel, "late");
    step(&j, 13 * SECOND);
    CHECK(next(&j, &to, &message) && to == 1 && message.kind == KILN__RELAY_QUIT);
    CHECK(recv(lost.socket, &byte, 1, MSG_DONTWAIT) == 0);
    CHECK(kiln__child_place_gone(&lost) && j.ranks->late == 1);
    CHECK(kiln__child_end(&lost) == -1);
    kiln__child_end(&kept);
    kiln_ranks_close(j.ranks);
}

static void test_never_came(void)
{
    job j;
    open_job(&j);
    hello(&j, 2);
    step(&j, SECOND);
    for (unsigned i = 2; i < 41; i++) { /* a rank may take up to four leases to open a device */
        beat(&j, 2);
        step(&j, i * SECOND);
    }
    CHECK_TEXT(j.log, "");
    beat(&j, 2);
    step(&j, 42 * SECOND);
    CHECK_TEXT(
        j.log,
        "rank 1 has sent no message for 40 s: the sweep continues without this process, and other processes do its "
        "work\n");
    CHECK(!kiln__ranks_info(j.ranks, 1) && kiln__ranks_info(j.ranks, 2));
    kiln_ranks_close(j.ranks);
}

/* Another rank leads the ranks of another model. The leader sends them nothing and ignores them. */
static void test_group(void)
{
    job j;
    int to;
    kiln__relayed message;
    const uint64_t group[] = {2};
    open_job(&j);
    hello(&j, 1);
    hello(&j, 2);
    step(&j, SECOND);
    kiln__ranks_send_away(j.ranks, group, 1);
    step(&j, SECOND);
    CHECK(next(&j, &to, &message) && to == 2 && message.kind == KILN__RELAY_GROUP);
    CHECK(message.group_count == 1 && kiln__relay_group_rank(&message, 0) == 2 &&
          kiln__relay_group_rank(&message, 1) == -1);
    CHECK(kiln__ranks_info(j.ranks, 1) && !kiln__ranks_info(j.ranks, 2));
    say_data(&j, 2, 1, "to its own leader");
    beat(&j, 1);
    step(&j, 9 * SECOND);
    beat(&j, 1);
    beat(&j, 2);
    step(&j, 18 * SECOND);
    CHECK(!next(&j, &to, &message));
    CHECK(j.ranks->late == 0);
    CHECK_TEXT(j.log, "");
    kiln__child child = child_of(&j, 2);
    CHECK(kiln__child_start(&child, program) == EHOSTDOWN);
    kiln_ranks_close(j.ranks);
}

typedef struct heard_answers {
    char text[256];
} heard_answers;

static void hear_answer(void *user, int rank, const char *device, const char *answer)
{
    heard_answers *all = user;
    size_t at = strlen(all->text);
    snprintf(all->text + at, sizeof all->text - at, "%d %s %s;", rank, device ? device : "-", answer ? answer : "-");
}

/* Rank 0 receives the answer of a rank that leads another group. If that rank is lost, rank 0 has no answer after a
 * lease. */
static void test_answers(void)
{
    static const uint64_t first[] = {1}, second[] = {2};
    job j;
    kiln__text text = {0};
    heard_answers all = {0};
    kiln_error *error = NULL;
    open_job(&j);
    hello(&j, 1);
    hello(&j, 2);
    step(&j, SECOND);
    kiln__ranks_send_away(j.ranks, first, 1);
    kiln__ranks_send_away(j.ranks, second, 1);
    step(&j, SECOND);
    kiln__relay_write_answer(&text, "found");
    say(&j, 1, &text);
    kiln__relay_write_answer(&text, "again");
    say(&j, 1, &text);
    beat(&j, 2);
    step(&j, 10 * SECOND);
    step(&j, 19 * SECOND); /* rank 1 has given its answer, and rank 2 has sent a heartbeat */
    CHECK_TEXT(j.log, "");
    step(&j, 21 * SECOND);
    CHECK_TEXT(j.log, "rank 2 (node2, cuda:2) has sent no message for 10 s: the results of its sweep are not shown\n");
    CHECK_OK(kiln_ranks_collect(j.ranks, "mine", NULL, hear_answer, &all, &error), error);
    CHECK_TEXT(all.text, "0 - mine;1 a GPU found;2 a GPU -;");
    kiln_ranks_close(j.ranks);
}

/* A rank that leads another group gives its answer to rank 0 once. If it ends before, it gives none. */
static void test_answers_of_a_group(void)
{
    for (int gives = 0; gives < 2; gives++) {
        job j;
        heard_answers all = {0};
        kiln_error *error = NULL;
        kiln__relayed message;
        unsigned beats = 0, answers = 0;
        open_job(&j);
        j.ranks->transport.rank = j.ranks->lead = 2;
        step(&j, 2 * SECOND);
        if (gives)
            CHECK_OK(kiln_ranks_collect(j.ranks, "found", NULL, hear_answer, &all, &error), error);
        step(&j, 2 * SECOND);
        kiln__leader_close(j.ranks);
        CHECK(j.ranks->told && j.ranks->letter_count == 0);
        for (size_t i = 0; i < j.post.out_count; i++) {
            kiln__rank_info info;
            const parcel *at = &j.post.out[i];
            CHECK(kiln__relay_read(at->bytes, at->length, &message, &info));
            beats += at->to == 0 && message.kind == KILN__RELAY_BEAT;
            answers += message.kind == KILN__RELAY_ANSWER;
            if (message.kind == KILN__RELAY_ANSWER)
                CHECK(at->to == 0 && message.length == (gives ? 5 : 0));
        }
        CHECK(beats == 1 && answers == (gives ? 1 : 0)); /* without a thread the last messages are dropped */
        CHECK_TEXT(all.text, "");
        kiln__free(NULL, j.ranks->members);
        j.ranks->members = NULL;
        kiln_ranks_close(j.ranks);
    }
}

static void test_leaves(void)
{
    job j;
    kiln__text text = {0};
    char byte;
    open_job(&j);
    hello(&j, 1);
    hello(&j, 2);
    step(&j, SECOND);
    kiln__child child = child_of(&j, 1);
    CHECK(kiln__child_start(&child, program) == 0);
    kiln__relay_write(&text, KILN__RELAY_BYE, 0);
    say(&j, 1, &text);
    kiln__text_add(&text, "garbage of a rank", 17);
    say(&j, 2, &text);
    step(&j, SECOND);
    CHECK_TEXT(
        j.log,
        "rank 1 (node1, cuda:1) has ended: the sweep continues without this process, and other processes do its work\n"
        "rank 2 (node2, cuda:2) sent an invalid message: the sweep continues without this process, and other "
        "processes do its work\n");
    CHECK(recv(child.socket, &byte, 1, MSG_DONTWAIT) == 0 && kiln__child_place_gone(&child));
    kiln__child_end(&child);
    kiln_ranks_close(j.ranks);
}

/* Truncates every message, and changes each of its bytes. The leader must read or refuse the message. */
static void test_bytes(void)
{
    kiln__rank_info info, *sent = calloc(1, sizeof *sent);
    kiln__relayed message;
    kiln__text texts[5] = {{0}};
    kiln__relay_write_hello(&texts[0], sent);
    kiln__relay_write_start(&texts[1], 5, program);
    kiln__relay_write_data(&texts[2], 6, "bytes", 5);
    kiln__relay_write_ended(&texts[3], 7, -1);
    kiln__relay_write_group(&texts[4], (const uint64_t[]){1, 2}, 2);
    for (size_t i = 0; i < KILN__COUNT(texts); i++) {
        kiln__text *text = &texts[i];
        CHECK(kiln__relay_read(text->data, text->length, &message, &info));
        for (size_t length = 0; length < text->length; length++) {
            char *part = malloc(length ? length : 1);
            memcpy(part, text->data, length);
            CHECK(!kiln__relay_read(part, length, &message, &info));
            free(part);
        }
        for (size_t at = 0; at < text->length && at < 200; at++) {
            text->data[at] = (char)(text->data[at] ^ 0x81);
            kiln__relay_read(text->data, text->length, &message, &info);
            text->data[at] = (char)(text->data[at] ^ 0x81);
        }
        kiln__text_free(text);
    }
    free(sent);
}

static void forget_launchers(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "MPI_LOCALRANKID",
                                        "MPI_LOCALNRANKS",
                                        "SLURM_PROCID",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_LOCALID",
                                        "SLURM_NTASKS_PER_NODE",
                                        "PMIX_RANK",
                                        "PMIX_SIZE",
                                        "PMIX_LOCAL_RANK",
                                        "PMIX_LOCAL_SIZE"};
    for (size_t i = 0; i < KILN__COUNT(names); i++)
        unsetenv(names[i]);
}

static void test_launchers(void)
{
    kiln__launch launch;
    forget_launchers();
    kiln__launch_find(&launch);
    CHECK(!launch.launcher);
    setenv("SLURM_PROCID", "0", 1); /* a batch script, which is no step of a job */
    kiln__launch_find(&launch);
    CHECK(!launch.launcher);
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    kiln__launch_find(&launch);
    CHECK(!launch.launcher);
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    setenv("SLURM_PROCID", "3", 1);
    setenv("SLURM_LOCALID", "1", 1);
    kiln__launch_find(&launch);
    CHECK_TEXT(launch.launcher, "Slurm's srun");
    CHECK(launch.rank == 3 && launch.size == 4 && launch.local == 1);
    setenv("PMI_RANK", "2", 1); /* mpiexec, whose helpers srun started */
    setenv("PMI_SIZE", "8", 1);
    setenv("MPI_LOCALRANKID", "0", 1);
    kiln__launch_find(&launch);
    CHECK_TEXT(launch.launcher, "MPICH's mpiexec");
    CHECK(launch.rank == 2 && launch.size == 8 && launch.local == 0);
    forget_launchers();
    setenv("PMIX_RANK", "1", 1);
    kiln__launch_find(&launch);
    CHECK(launch.launcher && launch.size == 0);
    setenv("PMIX_RANK", "x", 1);
    kiln__launch_find(&launch);
    CHECK(!launch.launcher);
    forget_launchers();
}

static void test_no_plugin(void)
{
    kiln_ranks *ranks = NULL;
    kiln_error *error = NULL;
    forget_launchers();
    kiln_ranks_options options = {.size = sizeof options, .plugin = "/nowhere/libkiln-mpi.so"};
    CHECK(kiln_ranks_open(&options, &ranks, &error) == KILN_OK && !ranks); /* no launcher started several processes */
    options.required = 1;
    CHECK(kiln_ranks_open(&options, &ranks, &error) == KILN_ERROR_NOT_FOUND && !ranks);
    CHECK(strstr(kiln_error_message(error), "/nowhere/libkiln-mpi.so") != NULL);
    kiln_error_free(error);
    CHECK(kiln_ranks_count(NULL) == 0 && kiln_ranks_rank(NULL) == 0 && kiln_ranks_local(NULL) == 0);
    kiln_ranks_close(NULL);
}

static const check_case tests[] = {
    {"a program on another rank, its messages and its end", test_program},
    {"a program that is ended: a late answer is dropped by its number", test_ended_here},
    {"a rank of which nothing is heard, and which comes back", test_lost},
    {"a rank that never comes", test_never_came},
    {"ranks of another leader", test_group},
    {"answers of other leaders", test_answers},
    {"the answer of another leader", test_answers_of_a_group},
    {"a rank that leaves, and one that sends garbage", test_leaves},
    {"the bytes of a message", test_bytes},
    {"launchers by their variables", test_launchers},
    {"no plug-in", test_no_plugin},
};
KILN_SUITE("ranks", tests)
