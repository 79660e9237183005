/* main.c - runs a fuzz target over files. Each argument is a file or a folder of files. The empty input and every single
 * byte are tried first. With KILN_FUZZ, a first argument that begins with '-' is an option of libFuzzer. libFuzzer then
 * gets all arguments. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#ifdef KILN_FUZZ
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*target)(const uint8_t *data, size_t size));
#endif

static unsigned long runs;

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return 1;
    enum { MOST = 1 << 22 };
    uint8_t *data = malloc(MOST);
    if (!data) {
        fclose(file);
        return 1;
    }
    size_t size = fread(data, 1, MOST, file);
    fclose(file);
    /* the block has the size of the input, so a sanitizer sees a read of one byte too many */
    uint8_t *exact = realloc(data, size ? size : 1);
    LLVMFuzzerTestOneInput(exact ? exact : data, size);
    runs++;
    free(exact ? exact : data);
    return 0;
}

static int run_path(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        return run_file(path);
    int failed = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        failed |= run_file(name);
    }
    closedir(folder);
    return failed;
}

int main(int count, char **arguments)
{
    if (count > 1 && arguments[1][0] == '-') {
#ifdef KILN_FUZZ
        return LLVMFuzzerRunDriver(&count, &arguments, LLVMFuzzerTestOneInput);
#else
        fprintf(stderr, "%s: built without libFuzzer, which tools/setup.sh --test installs: it only reads files\n",
                arguments[0]);
        return 1;
#endif
    }
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t one = (uint8_t)byte;
        LLVMFuzzerTestOneInput(&one, 1);
    }
    int failed = 0;
    for (int i = 1; i < count; i++)
        if (run_path(arguments[i]) != 0) {
            fprintf(stderr, "%s: cannot be read\n", arguments[i]);
            failed = 1;
        }
    printf("%lu inputs\n", runs);
    return failed;
}
