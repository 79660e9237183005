/* interrupt.c - handles SIGINT and SIGTERM, and ends a command that hangs.
 *
 * The first signal ends the command in an orderly way, and the second signal ends it at once. The signal handler
 * belongs to the command and not to the library. The handler sets a flag, which the library and the subcommands read.
 *
 * A kernel, or the code that runs it, may hang at a place that reads neither the flag nor its time limit. Such places
 * are a host function that does not return, the wait for a lock, and the handler of another signal. Therefore a
 * watchdog ends the process at a deadline. The watchdog waits for no thread, takes no lock, and calls only
 * async-signal-safe functions. Three mechanisms guard the deadline, because each of them may fail:
 *
 * - The handler of a timer's signal prints a message and exits. This mechanism needs a thread that does not block the
 *   signal.
 * - A thread does the same. It works even if all other threads block the signal. The thread exists only after kernels
 *   have run.
 * - A second timer sends SIGKILL some seconds later. No thread can block SIGKILL, but the process then prints no
 *   message.
 *
 * A timer may be missing because a sandbox forbids it, and the thread because the system refuses another thread. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

enum { SIGNAL_GRACE = 10, LIMIT_GRACE = 10, KILL_GRACE = 5, LONGEST = 1 << 30 }; /* in seconds */

/* The library reads `interrupted` as an int; on this platform sig_atomic_t is an int. */
static volatile int interrupted;
static struct timespec interrupted_at;
/* this text is not in the command's memory, because a signal may come after that memory was freed */
static char interrupted_text[256];
static size_t interrupted_length;
/* true: after the first signal the command finishes work other than kernels */
static volatile sig_atomic_t has_other_work;

static timer_t timers[2]; /* two timers: the first sends SIGRTMIN, the second sends SIGKILL */
static bool has_timers;
/* the watchdog's deadline in seconds of CLOCK_MONOTONIC; 0 means that there is no deadline */
static atomic_llong deadline;
static atomic_bool kernels_run;

static void say(const char *text) { (void)!write(STDERR_FILENO, text, strlen(text)); }

static struct timespec get_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now;
}

/* Makes the watchdog end the process in `seconds` seconds; 0 means never. It is async-signal-safe. */
static void set_deadline(time_t seconds)
{
    const int before = errno; /* keeps the errno of the code that the signal interrupted */
    atomic_store(&deadline, seconds ? (long long)(get_time().tv_sec + seconds) : 0);
    for (int i = 0; has_timers && i < 2; i++) {
        struct itimerspec when = {.it_value.tv_sec = seconds ? seconds + i * KILL_GRACE : 0};
        /* a sandbox may forbid timers; then only the thread guards the deadline */
        timer_settime(timers[i], 0, &when, NULL);
    }
    errno = before;
}

static void end_at_once(void)
{
    if (interrupted) {
        say("\nkiln: the command did not end after the signal: ending at once\n");
        _exit(cli_exit_code(KILN_ERROR_INTERRUPTED));
    }
    say("\n"
        "kiln: a kernel has exceeded its time limit by far (--sample-timeout), and its process does not answer: "
        "ending at once. Other work of this command is lost; samples that were stored are kept\n");
    _exit(cli_exit_code(KILN_ERROR_TIMEOUT));
}

static void on_timer(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if (info->si_code == SI_TIMER) /* another process may have sent this signal; only the timer's own signal counts */
        end_at_once();
}

/* Handles SIGINT and SIGTERM. A second signal ends the process at once, unless it comes very soon after the first. A
 * signal that comes so soon is probably the same signal: a terminal, `timeout` and similar programs may send a signal
 * both to a process and to its group. In the first process of a container, the default action of a signal has no
 * effect, so _exit() ends that process. */
static void on_signal(int number)
{
    const struct timespec now = get_time();
    if (!interrupted) {
        interrupted_at = now;
        interrupted = 1;
        if (!has_other_work || atomic_load(&kernels_run))
            set_deadline(SIGNAL_GRACE);
        (void)!write(STDERR_FILENO, interrupted_text, interrupted_length);
    } else if ((double)(now.tv_sec - interrupted_at.tv_sec) + (double)(now.tv_nsec - interrupted_at.tv_nsec) / 1e9 >
               0.3) {
        sigset_t self;
        sigemptyset(&self);
        sigaddset(&self, number);
        signal(number, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &self, NULL);
        raise(number);
        _exit(cli_exit_code(KILN_ERROR_INTERRUPTED));
    }
}

/* Makes the timers before the sandbox begins, because the process then loses the right to make timers. */
static void start_watchdog(void)
{
    if (has_timers)
        return;
    struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent soft = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN},
                    hard = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    sigset_t own;
    sigfillset(&action.sa_mask);
    sigemptyset(&own);
    sigaddset(&own, SIGRTMIN);
    has_timers = sigaction(SIGRTMIN, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &soft, &timers[0]) == 0 &&
                 timer_create(CLOCK_MONOTONIC, &hard, &timers[1]) == 0;
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
}

static void *watch(void *unused)
{
    const struct timespec step = {.tv_sec = 1};
    for (;;) {
        nanosleep(&step, NULL); /* a signal ends the sleep early */
        const long long until = atomic_load(&deadline);
        /* the thread waits longer than the timer, so that the two do not print at the same time */
        if (until && get_time().tv_sec > until)
            end_at_once();
    }
    return unused;
}

/* Starts the thread when kernels begin to run. It cannot start earlier, because a process must have a single thread
 * when it gives up its rights.
 */
static void start_thread(void)
{
    enum { STACK_BYTES = 128 << 10 };
    static bool is_started;
    static const int own[] = {SIGINT, SIGTERM};
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t others, before;
    if (is_started || pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&others);
    sigdelset(&others, SIGRTMIN);
    for (size_t i = 0; i < CLI_COUNT(own); i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    is_started = pthread_create(&thread, &attributes, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

void cli_watch(void *user, double seconds)
{
    (void)user;
    start_watchdog();
    if (seconds > 0)
        start_thread();
    atomic_store(&kernels_run, seconds > 0);
    /* The deadline is twice the time limit of the kernels, because it also covers host functions, and because the
     * machine may be busy. */
    const double most = 2 * seconds + LIMIT_GRACE;
    if (!interrupted)
        set_deadline(seconds > 0 && most < LONGEST ? (time_t)ceil(most) : 0);
    if (interrupted) /* a signal came before this call or during it, so the code repeats the work of the handler */
        set_deadline(!has_other_work || seconds > 0 ? SIGNAL_GRACE : 0);
}

void cli_catch_signals(const char *what)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    int length = snprintf(interrupted_text, sizeof interrupted_text,
                          "\nkiln: ending%s%s; press Ctrl-C again to end at once\n", *what ? " after " : "", what);
    interrupted_length = length < 0 ? 0 : strlen(interrupted_text);
    has_other_work = *what != '\0';
    start_watchdog();
    for (size_t i = 0; i < CLI_COUNT(numbers); i++) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
        sigemptyset(&action.sa_mask);
        if (sigaction(numbers[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) /* if a signal is ignored, for example by nohup, the command keeps ignoring
                                           * it */
            sigaction(numbers[i], &action, NULL);
    }
}

bool cli_interrupted(void) { return interrupted != 0; }

const volatile int *cli_interrupt_flag(void) { return &interrupted; }
