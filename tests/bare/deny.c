/* deny.c - deny WHAT... -- COMMAND: runs a command without some parts of the kernel: ptrace, userns (user namespaces),
 * ipv6. A filter of system calls refuses these calls with the error of a kernel that lacks them, or of a container that
 * forbids them. It needs no root. tests/bare/run.sh --without uses it. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
/* Skips the next two instructions, unless the call has this number. */
#define CALL(name) LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (name), 0, 1)
/* Matches if the first argument has one of these bits, or equals this value. */
#define CALL_BITS(name, bits)                                                                                          \
    LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (name), 0, 3), LOAD(args[0]),                                        \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, 1)
#define CALL_VALUE(name, value)                                                                                        \
    LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (name), 0, 3), LOAD(args[0]),                                        \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)

static int deny(const struct sock_filter *rules, size_t size)
{
    struct sock_filter program[32];
    memcpy(program, rules, size);
    const struct sock_fprog all = {.len = (unsigned short)(size / sizeof *rules), .filter = program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

int main(int count, char **arguments)
{
    static const struct sock_filter ptrace[] = {CALL(SYS_ptrace),
                                                REFUSE(EPERM),
                                                CALL(SYS_process_vm_readv),
                                                REFUSE(EPERM),
                                                CALL(SYS_process_vm_writev),
                                                REFUSE(EPERM),
                                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    static const struct sock_filter userns[] = {
        /* clone3 has its flags in memory, where a filter cannot read them; without clone3, libraries call clone */
        CALL_BITS(SYS_unshare, CLONE_NEWUSER),
        REFUSE(EPERM),
        CALL_BITS(SYS_clone, CLONE_NEWUSER),
        REFUSE(EPERM),
        CALL(SYS_clone3),
        REFUSE(ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    static const struct sock_filter ipv6[] = {CALL_VALUE(SYS_socket, AF_INET6), REFUSE(EAFNOSUPPORT),
                                              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    int at = 1;
    for (int done = 1; at < count && strcmp(arguments[at], "--") != 0; at++) {
        if (strcmp(arguments[at], "ptrace") == 0)
            done = deny(ptrace, sizeof ptrace);
        else if (strcmp(arguments[at], "userns") == 0)
            done = deny(userns, sizeof userns);
        else if (strcmp(arguments[at], "ipv6") == 0)
            done = deny(ipv6, sizeof ipv6);
        else
            return fprintf(stderr, "deny: '%s' is not ptrace, userns or ipv6\n", arguments[at]), 2;
        if (!done)
            return perror("deny: no filter of system calls can be set"), 2;
    }
    if (at + 1 >= count)
        return fprintf(stderr, "deny: usage: deny WHAT... -- COMMAND\n"), 2;
    execvp(arguments[at + 1], arguments + at + 1);
    perror(arguments[at + 1]);
    return 127;
}
