/* locale.c - handles numbers, letters and dates in the C locale, independently of the locale of the host program. The
 * functions switch the calling thread to the C locale and back. The functions do not change the locale of the process
 * or of another thread. In glibc and musl the C locale is a constant object: newlocale() allocates nothing for it and
 * cannot fail. */
#include <fnmatch.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base.h"

locale_t kiln__locale_enter(void) { return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0)); }

void kiln__locale_leave(locale_t before) { uselocale(before); }

const char *kiln__error_text(int error) { return strerror_l(error, newlocale(LC_ALL_MASK, "C", (locale_t)0)); }

const char *kiln__signal_text(int number)
{
    const locale_t before = kiln__locale_enter();
    const char *text = strsignal(number);
    kiln__locale_leave(before);
    return text;
}

double kiln__parse_double(const char *text, char **end)
{
    const locale_t before = kiln__locale_enter();
    const double value = strtod(text, end);
    kiln__locale_leave(before);
    return value;
}

int kiln__vformat(char *room, size_t size, const char *format, va_list arguments)
{
    const locale_t before = kiln__locale_enter();
    const int length = vsnprintf(room, size, format, arguments);
    kiln__locale_leave(before);
    return length;
}

int kiln__format(char *room, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = kiln__vformat(room, size, format, arguments);
    va_end(arguments);
    return length;
}

bool kiln__format_time(char *room, size_t size, const char *format, int64_t made)
{
    const time_t seconds = (time_t)(made / 1000000);
    struct tm parts;
    if (made < 0 || !gmtime_r(&seconds, &parts))
        return false;
    const locale_t before = kiln__locale_enter();
    const bool fits = strftime(room, size, format, &parts) > 0;
    kiln__locale_leave(before);
    return fits;
}

char *kiln__parse_time(const char *text, const char *format, struct tm *parts)
{
    const locale_t before = kiln__locale_enter();
    char *end = strptime(text, format, parts);
    kiln__locale_leave(before);
    return end;
}

bool kiln__matches(const char *pattern, const char *text)
{
    const locale_t before = kiln__locale_enter();
    const bool matches = fnmatch(pattern, text, 0) == 0;
    kiln__locale_leave(before);
    return matches;
}

char kiln__lower(char letter) { return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter; }

bool kiln__same_word(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (kiln__lower(a[i]) != kiln__lower(b[i]))
            return false;
        if (!a[i])
            return true;
    }
    return true;
}
