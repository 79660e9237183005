/* target.c - converts the names of the architectures for which code is compiled. */
#include <stdio.h>
#include <string.h>

#include "chars.h"
#include "base.h"

bool kiln__target_parse(const char *text, kiln__target *target)
{
    enum { MOST = 999 };
    int arch = 0;
    if (strncmp(text, "sm_", 3) == 0)
        text += 3;
    else if (strncmp(text, "compute_", 8) == 0)
        text += 8;
    if (*text < '1' || *text > '9')
        return false;
    for (; kiln__is_digit(*text) && arch <= MOST; text++)
        arch = 10 * arch + (*text - '0');
    char kind = *text;
    if (arch < 10 || arch > MOST || (kind && ((kind != 'a' && kind != 'f') || text[1])))
        return false;
    /* 90 and 100 are the first architectures for which these kinds of targets exist */
    if ((kind == 'a' && arch < 90) || (kind == 'f' && arch < 100))
        return false;
    *target = (kiln__target){arch, kind};
    return true;
}

const char *kiln__target_print(kiln__target target, const char *prefix, char text[KILN__TARGET_TEXT])
{
    snprintf(text, KILN__TARGET_TEXT, "%s_%d%.1s", prefix, target.arch, (char[2]){target.kind, '\0'});
    return text;
}

bool kiln__target_runs(kiln__target target, int cc)
{
    if (target.kind == 'a')
        return target.arch == cc;
    if (target.kind == 'f') /* code for a family runs on later architectures of the same major generation */
        return target.arch / 10 == cc / 10 && target.arch <= cc;
    return target.arch <= cc;
}
