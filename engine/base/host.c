/* host.c - describes the machine on which this process runs, and the resources that the process may use. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base.h"

unsigned kiln__cpu_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

/* Reads a list of cores such as "0-15,32" up to the end of the line. The function skips cores beyond the size of the
 * set. */
static bool read_cores(const char *text, cpu_set_t *set)
{
    CPU_ZERO(set);
    while (*text && *text != '\n') {
        char *end;
        unsigned long first, last;
        if (*text < '0' || *text > '9')
            return false;
        first = last = strtoul(text, &end, 10);
        if (*end == '-') {
            if (end[1] < '0' || end[1] > '9')
                return false;
            last = strtoul(end + 1, &end, 10);
        }
        if (last < first || (*end && *end != ',' && *end != '\n'))
            return false;
        for (unsigned long core = first; core <= last && core < CPU_SETSIZE; core++)
            CPU_SET(core, set);
        text = *end == ',' ? end + 1 : end;
    }
    return true;
}

unsigned kiln__host_go_near(const char *list, bool *far)
{
    char text[4096] = "";
    cpu_set_t near, mine, both;
    FILE *file = fopen(list, "re");
    bool read = file && fgets(text, sizeof text, file) && read_cores(text, &near) && CPU_COUNT(&near) > 0;
    *far = false;
    if (file)
        fclose(file);
    if (!read || sched_getaffinity(0, sizeof mine, &mine) != 0)
        return 0;
    CPU_AND(&both, &near, &mine);
    *far = CPU_COUNT(&both) == 0;
    if (*far || CPU_EQUAL(&both, &mine) || sched_setaffinity(0, sizeof both, &both) != 0)
        return 0;
    return (unsigned)CPU_COUNT(&both);
}

void kiln__host_describe(kiln__text *out)
{
    struct utsname system;
    char line[256], model[200] = "";
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && !*model && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0)
            sscanf(line, "model name%*[ \t]: %199[^\n]", model);
    if (file)
        fclose(file);
    if (uname(&system) == 0)
        kiln__text_printf(out, "%s, %s %s %s, ", system.nodename, system.sysname, system.release, system.machine);
    kiln__text_printf(out, "%u x %s", kiln__cpu_count(), *model ? model : "CPU");
}

const char *kiln__network_disk(const char *folder)
{
    static const struct {
        uint32_t type; /* f_type of statfs() */
        const char *name;
    } kinds[] = {
        {0x6969, "NFS"},        {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},     {0x00c36400, "Ceph"},
        {0x19830326, "BeeGFS"}, {0xaad7aaea, "PanFS"},  {0x5346414f, "AFS"},      {0x65735546, "FUSE"},
        {0xfe534d42, "SMB"},    {0xff534d42, "CIFS"},   {0x517b, "SMB"},          {0x01021997, "9P"},
        {0x01161970, "GFS2"},   {0x7461636f, "OCFS2"},  {0x20030528, "OrangeFS"},
    };
    struct statfs info;
    if (statfs(folder, &info) != 0)
        return NULL;
    for (size_t i = 0; i < KILN__COUNT(kinds); i++)
        if ((uint32_t)info.f_type == kinds[i].type)
            return kinds[i].name;
    return NULL;
}

static uint64_t read_limit(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned long long limit = 0;
    if (!file)
        return UINT64_MAX;
    if (fscanf(file, "%llu", &limit) != 1 || limit == 0) /* "max" */
        limit = UINT64_MAX;
    fclose(file);
    return limit;
}

uint64_t kiln__host_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)1 << 32;
    uint64_t v2 = read_limit("/sys/fs/cgroup/memory.max");
    uint64_t v1 = read_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    if (v2 < bytes)
        bytes = v2;
    return v1 < bytes ? v1 : bytes;
}

/* Reads a file of /proc or /sys, and returns the number after `key` at the start of a line. Returns 0 if no line begins
 * with `key`. */
static uint64_t read_figure(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    char line[256];
    unsigned long long figure = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%llu", &figure) == 1)
            break;
    if (file)
        fclose(file);
    return figure;
}

uint64_t kiln__host_memory_free(void)
{
    uint64_t all = kiln__host_memory(), bytes = 1024 * read_figure("/proc/meminfo", "MemAvailable:");
    if (bytes == 0 || bytes > all)
        bytes = all;
    uint64_t limit = read_limit("/sys/fs/cgroup/memory.max"), used = read_figure("/sys/fs/cgroup/memory.current", "");
    uint64_t cached = read_figure("/sys/fs/cgroup/memory.stat", "inactive_file ");
    used = used > cached ? used - cached : 0;
    uint64_t left = limit > used ? limit - used : 0;
    return left < bytes ? left : bytes;
}
