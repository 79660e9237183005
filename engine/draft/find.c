/* find.c - finds the launches of the kernel in host code, and chooses one. */
#include <stdlib.h>
#include <string.h>

#include "chars.h"
#include "host_internal.h"

/* Limits, because the source is untrusted text: the places that are tried as launches, the nesting depth of templates
 * that call each other, and the launches of one kernel. */
enum { MOST_TRIED = 200, MOST_LEVELS = 3, MOST_LAUNCHES = 32 };

/* ---- finding the launch ---- */

/* Returns true if the name in a launch is the kernel, or a variable that is set to the kernel. `from` and `to` are the
 * tokens of the name. A macro may paste the name from parts, such as reduce_##type##_kernel. If the variable is set to
 * kernel<...>, *templates gets the tokens of the template arguments. */
static bool names_kernel(kiln__draft *draft, size_t from, size_t to, kiln__range *templates)
{
    const char *plain = draft->kernel->plain;
    if (to == from + 1 && is_text(draft, from, plain))
        return true;
    size_t first = draft->scan->words[from].length, last = draft->scan->words[to - 1].length, whole = strlen(plain);
    if (to > from + 1) /* a macro pastes the name from several tokens (##) */
        return whole > first + last && memcmp(plain, draft->scan->words[from].text, first) == 0 &&
               memcmp(plain + whole - last, draft->scan->words[to - 1].text, last) == 0;
    /* a variable of host code, such as auto kernel = name<...>; */
    for (size_t i = draft->host.scope.from; i + 2 < draft->host.at; i++) {
        if (!same_word(draft, i, from) || kind_of_word(draft, i + 1) != '=')
            continue;
        size_t at = i + 2 + (kind_of_word(draft, i + 2) == '&');
        while (kind_of_word(draft, at) == 'w' && kiln__words_are_joined(draft, at + 1, "::"))
            at += 3;
        if (!is_text(draft, at, plain))
            continue;
        if (kind_of_word(draft, at + 1) == '<')
            *templates = (kiln__range){at + 2, kiln__word_close(draft->scan, at + 1)};
        return true;
    }
    return false;
}

/* A macro may launch several kernels, and make their names from its arguments. The function finds the use of the macro
 * that launches this kernel, such as LAUNCH(f32, float, 4). The frame draft->host.frame gets the arguments of this use
 * as the values of the macro's parameters. Returns false if there is no such use. */
static bool find_use(kiln__draft *draft, size_t from, size_t to)
{
    const kiln__scan *scan = draft->scan;
    const char *plain = draft->kernel->plain;
    const kiln__macro *macro = NULL;
    for (size_t i = 0; i < scan->macro_count; i++)
        if (scan->macros[i].from <= from && from < scan->macros[i].to && scan->macros[i].function)
            macro = &scan->macros[i];
    kiln__range names[KILN__MOST_LIST];
    kiln__frame *made = kiln__arena_alloc(draft->arena, sizeof *made);
    if (!macro || !made)
        return false;
    size_t head = kiln__word_close(scan, macro->from),
           count = kiln__words_split(draft, macro->from + 1, head, false, names);
    for (size_t i = 1; i + 1 < scan->count; i++) {
        if (scan->words[i].directive || !kiln__word_is(scan, i, macro->name) || kind_of_word(draft, i + 1) != '(')
            continue;
        *made = (kiln__frame){0};
        made->count = kiln__words_split(draft, i + 2, kiln__word_close(scan, i + 1), false, made->values);
        if (made->count != count)
            continue;
        for (size_t k = 0; k < count; k++)
            made->names[k] = names[k].from;
        kiln__text name = {.mem = draft->mem};
        for (size_t w = from; w < to; w++) {
            if (kind_of_word(draft, w) == '#')
                continue;
            const kiln__word *word = &scan->words[w];
            for (size_t k = 0; k < count; k++)
                if (same_word(draft, made->names[k], w))
                    word = &scan->words[made->values[k].from];
            kiln__text_add(&name, word->text, word->length);
        }
        bool same = strcmp(kiln__text_get(&name), plain) == 0;
        kiln__text_free(&name);
        if (same) {
            draft->host.frame = made;
            return true;
        }
    }
    return false;
}

/* Reads a launch name<templates><<<...>>>(...). The token `at` is the first '<' of the three. */
static bool read_chevrons(kiln__draft *draft, size_t at)
{
    kiln__host_launch *host = &draft->host;
    const kiln__scan *scan = draft->scan;
    size_t end = at - 1, close = at + 3, depth = 0;
    kiln__range templates = {0, 0}, list[KILN__MOST_LIST];
    if (kind_of_word(draft, end) == '>') {
        size_t open = end;
        for (size_t parens = 0; open > 1; open--) {
            parens += kind_of_word(draft, open) == ')';
            parens -= parens > 0 && kind_of_word(draft, open) == '(';
            depth += parens == 0 && kind_of_word(draft, open) == '>';
            if (parens == 0 && kind_of_word(draft, open) == '<' && --depth == 0)
                break;
        }
        templates = (kiln__range){open + 1, end};
        end = open - 1;
    }
    if (kind_of_word(draft, end) != 'w')
        return false;
    size_t from = end;
    while (from > 3 && kind_of_word(draft, from - 1) == '#' && kind_of_word(draft, from - 2) == '#' &&
           kind_of_word(draft, from - 3) == 'w')
        from -= 3;
    host->at = from;
    host->in_macro = scan->words[at].directive;
    host->scope = host->in_macro ? kiln__enclosing_directive(draft, at) : kiln__enclosing_function(draft, at);
    if (host->scope.from == 0 || !names_kernel(draft, from, end + 1, &templates) ||
        (from < end && !find_use(draft, from, end + 1)))
        return false;
    while (close < scan->count && !kiln__words_are_three(draft, close, '>'))
        close++;
    size_t count = kiln__words_split(draft, at + 3, close, false, list);
    if (count < 2 || kind_of_word(draft, close + 3) != '(')
        return false;
    host->grid = list[0];
    host->block = list[1];
    host->shared = count > 2 ? list[2] : (kiln__range){0, 0};
    host->line = scan->words[at].line;
    host->template_count = templates.from
                               ? kiln__words_split(draft, templates.from, templates.to, true, host->templates)
                               : 0;
    host->argument_count = kiln__words_split(draft, close + 4, kiln__word_close(scan, close + 3), false,
                                             host->arguments);
    return true;
}

/* Returns the tokens between the braces or parentheses of `object = {...}`, `object{...}`, `object(...)` or `object[] =
 * {...}` before the launch. Returns {0, 0} if there is no such definition. */
static kiln__range initial_list(const kiln__draft *draft, size_t object)
{
    kiln__range found = {0, 0};
    for (size_t i = draft->host.scope.from; i + 2 < draft->host.at; i++) {
        size_t at = i + 1;
        if (!same_word(draft, i, object) || kind_of_word(draft, i) != 'w' || kind_of_word(draft, i - 1) == '.')
            continue;
        if (kind_of_word(draft, at) == '[')
            at = kiln__word_close(draft->scan, at) + 1;
        if (kind_of_word(draft, at) == '=') {
            at++;
            /* a function that makes the object, such as params = launch_params(grid, block) */
            while (kind_of_word(draft, at) == 'w')
                at++;
        } else if (kind_of_word(draft, i - 1) != 'w') /* the token is not part of a declaration */
            continue;
        const size_t close = kiln__word_close(draft->scan, at);
        if ((kind_of_word(draft, at) == '{' || kind_of_word(draft, at) == '(') && close < draft->host.at)
            found = (kiln__range){at + 1, close};
    }
    return found;
}

/* Finds the value of a member of an object before the launch. The value is in `object.member = value;`, or at the
 * position `place` of the list in `object = {grid, block}`. Returns the tokens of the value, or {0, 0}. */
static kiln__range member_value(const kiln__draft *draft, size_t object, const char *member, size_t place)
{
    for (size_t i = draft->host.scope.from; i + 4 < draft->host.at; i++)
        if (same_word(draft, i, object) && kind_of_word(draft, i + 1) == '.' && is_text(draft, i + 2, member) &&
            kind_of_word(draft, i + 3) == '=') {
            size_t end = i + 4;
            while (end < draft->host.at && kind_of_word(draft, end) != ';')
                end++;
            return (kiln__range){i + 4, end};
        }
    kiln__range list[KILN__MOST_LIST], inside = initial_list(draft, object);
    const size_t count = inside.from ? kiln__words_split(draft, inside.from, inside.to, false, list) : 0;
    for (size_t i = 0; i < count; i++) /* a list with names, such as {.gridDim = grid, .blockDim = block} */
        if (kind_of_word(draft, list[i].from) == '.') {
            if (is_text(draft, list[i].from + 1, member) && kind_of_word(draft, list[i].from + 2) == '=')
                return (kiln__range){list[i].from + 3, list[i].to};
            place = SIZE_MAX;
        }
    return place < count ? list[place] : (kiln__range){0, 0};
}

/* Returns true if an argument of a call is the kernel: `kernel<64>`, `&kernel`, `(void *)kernel`, or a variable that is
 * set to the kernel. *templates gets the tokens of the template arguments. */
static bool is_kernel_argument(kiln__draft *draft, kiln__range range, kiln__range *templates)
{
    size_t name = 0;
    for (size_t i = range.from; i < range.to && !name; i++)
        name = is_text(draft, i, draft->kernel->plain) ? i : 0;
    if (!name && range.to == range.from + 1 && kind_of_word(draft, range.from) == 'w')
        name = range.from;
    if (name && kind_of_word(draft, name + 1) == '<')
        *templates = (kiln__range){name + 2, kiln__word_close(draft->scan, name + 1)};
    return name && names_kernel(draft, name, name + 1, templates);
}

/* Reads the kernel's arguments from the array of their addresses: `void *arguments[] = {&x, &n};`. */
static void read_addresses(kiln__draft *draft, kiln__range array)
{
    kiln__host_launch *host = &draft->host;
    const kiln__range inside = array.to == array.from + 1 ? initial_list(draft, array.from) : (kiln__range){0, 0};
    host->argument_count = inside.from ? kiln__words_split(draft, inside.from, inside.to, false, host->arguments) : 0;
    for (size_t i = 0; i < host->argument_count; i++) {
        kiln__range *one = &host->arguments[i];
        if (kind_of_word(draft, one->from) == '(') /* an address with a cast, such as (void *)&x */
            one->from = kiln__word_close(draft->scan, one->from) + 1;
        one->from += kind_of_word(draft, one->from) == '&';
    }
}

/* The orders of arguments in functions that launch a kernel. */
typedef enum launch_form {
    FORM_NONE,
    /* cudaLaunchKernelEx(&config, kernel, arguments...), or cudaLaunchKernelExC() with an array of addresses */
    FORM_CONFIG,
    FORM_DIRECT,  /* cudaLaunchKernel(kernel, grid, block, addresses, shared, stream) */
    FORM_WRAPPED, /* a function of the project, such as launch(kernel, params, arguments...) with params(grid, block) */
} launch_form;

static launch_form form_at(const kiln__draft *draft, size_t at)
{
    static const struct {
        const char *name;
        launch_form form;
    } names[] = {{"cudaLaunchKernelEx", FORM_CONFIG},
                 {"cudaLaunchKernelExC", FORM_CONFIG},
                 {"cudaLaunchKernel", FORM_DIRECT},
                 {"cudaLaunchCooperativeKernel", FORM_DIRECT}};
    if (kind_of_word(draft, at) != 'w' || kind_of_word(draft, at + 1) != '(')
        return FORM_NONE;
    for (size_t i = 0; i < KILN__COUNT(names); i++)
        if (is_text(draft, at, names[i].name))
            return names[i].form;
    return kiln__word_has(draft->scan, at, "launch") && is_text(draft, at + 2, draft->kernel->plain) ? FORM_WRAPPED
                                                                                                     : FORM_NONE;
}

/* Reads a launch by a function call. `at` is the token of the function's name. */
static bool read_launch_call(kiln__draft *draft, size_t at, launch_form form)
{
    kiln__host_launch *host = &draft->host;
    kiln__range list[KILN__MOST_LIST], templates = {0, 0};
    const size_t close = kiln__word_close(draft->scan, at + 1);
    const size_t count = kiln__words_split(draft, at + 2, close, false, list);
    const size_t kernel = form == FORM_CONFIG, config = !kernel;
    host->at = at;
    host->in_macro = draft->scan->words[at].directive;
    host->scope = host->in_macro ? kiln__enclosing_directive(draft, at) : kiln__enclosing_function(draft, at);
    if (count < 2 || host->scope.from == 0 || !is_kernel_argument(draft, list[kernel], &templates))
        return false;
    if (form == FORM_DIRECT) {
        if (count < 4)
            return false;
        host->grid = list[1];
        host->block = list[2];
        host->shared = count > 4 ? list[4] : (kiln__range){0, 0};
        read_addresses(draft, list[3]);
    } else {
        const size_t name = list[config].from + (kind_of_word(draft, list[config].from) == '&');
        host->grid = member_value(draft, name, "gridDim", 0);
        host->block = member_value(draft, name, "blockDim", 1);
        host->shared = member_value(draft, name, "dynamicSmemBytes", 2);
        host->argument_count = count - 2;
        memcpy(host->arguments, list + 2, (count - 2) * sizeof *list);
        if (is_text(draft, at, "cudaLaunchKernelExC") && count > 2)
            read_addresses(draft, list[2]);
    }
    if (!host->grid.from || !host->block.from)
        return false;
    host->line = draft->scan->words[at].line;
    host->template_count = templates.from
                               ? kiln__words_split(draft, templates.from, templates.to, true, host->templates)
                               : 0;
    return true;
}

/* ---- functions around a launch ---- */

/* Finds `template <...>` and the name of the function or structure whose body begins at the token `scope`. Returns the
 * token of the name, or 0 if the function or structure is not a template. *params gets the tokens of the template
 * parameters. */
static size_t find_template_head(const kiln__draft *draft, size_t scope, kiln__range *params)
{
    enum { MOST_HEAD = 200 };
    size_t name = 0, depth = 0, at = scope - 1; /* the opening brace of the body */
    for (size_t i = at; i-- > 2 && at - i < MOST_HEAD;) {
        const char c = kind_of_word(draft, i);
        depth += c == ')';
        depth -= depth > 0 && c == '(';
        if (depth == 0 && strchr(";{}", c))
            return 0;
        if (c == '(' && depth == 0)
            name = i - 1;
        else if (!name && depth == 0 && (is_text(draft, i - 1, "struct") || is_text(draft, i - 1, "class")))
            name = i;
        if (depth > 0 || !is_text(draft, i, "template") || kind_of_word(draft, i + 1) != '<')
            continue;
        *params = (kiln__range){i + 2, kiln__word_close(draft->scan, i + 1)};
        return name && params->to < name ? name : 0;
    }
    return 0;
}

/* Returns the token of the name in a template parameter such as `int M = 4`. *initial gets the tokens of its
 * default. */
static size_t param_name(const kiln__draft *draft, kiln__range param, kiln__range *initial)
{
    size_t name = 0;
    *initial = (kiln__range){0, 0};
    for (size_t i = param.from; i < param.to && !initial->from; i++) {
        if (kind_of_word(draft, i) == '=')
            *initial = (kiln__range){i + 1, param.to};
        else if (kind_of_word(draft, i) == 'w')
            name = i;
    }
    return name;
}

static bool add_launch(kiln__draft *draft, const kiln__host_launch *launch)
{
    if (draft->launch_count >= MOST_LAUNCHES)
        return false;
    if (!draft->launches)
        draft->launches = kiln__arena_alloc(draft->arena, MOST_LAUNCHES * sizeof *draft->launches);
    if (draft->launches)
        draft->launches[draft->launch_count++] = *launch;
    return draft->launches != NULL;
}

/* Adds a launch with copies of its frame and of `count` frames around it. */
static bool add_framed(kiln__draft *draft, const kiln__host_launch *launch, kiln__frame *const *around, size_t count)
{
    kiln__host_launch made = *launch;
    const kiln__frame *up = NULL;
    for (size_t i = count + (launch->frame != NULL); i-- > 0;) {
        kiln__frame *copy = kiln__arena_alloc(draft->arena, sizeof *copy);
        if (!copy)
            return false;
        *copy = launch->frame ? (i ? *around[i - 1] : *launch->frame) : *around[i];
        copy->up = up;
        up = copy;
    }
    made.frame = up;
    return add_launch(draft, &made);
}

/* Makes the frame of a call such as `name<64, float>` at the token `at`. The frame gives the template parameters the
 * arguments of the call. */
static kiln__frame *make_call(kiln__draft *draft, size_t at, const kiln__range *params, size_t count)
{
    kiln__range given[KILN__MOST_LIST], initial;
    kiln__frame *made = kiln__arena_alloc(draft->arena, sizeof *made);
    if (!made)
        return NULL;
    *made = (kiln__frame){.scope = kiln__enclosing_function(draft, at), .at = at};
    if (made->scope.from == 0) /* an instantiation at namespace scope, such as `template void run<64>();` */
        made->scope = (kiln__range){at, at};
    const size_t known = kiln__words_split(draft, at + 2, kiln__word_close(draft->scan, at + 1), true, given);
    for (size_t k = 0; k < count; k++) {
        const size_t word = param_name(draft, params[k], &initial);
        if (word && (k < known || initial.from)) {
            made->values[made->count] = k < known ? given[k] : initial;
            made->names[made->count++] = word;
        }
    }
    return made;
}

/* Adds the launch once for each call of the function template that contains it, and gives the template parameters the
 * arguments of the call. Example: the launch in `template <int M> void run() { k<M><<<...>>>(); }` and the call
 * `run<64>()`. The caller may also be a template. `around` has the calls so far, from the launch upwards. `scope` is
 * the function that contains the last of these calls. Returns false if there is no call. */
static bool add_calls(kiln__draft *draft, const kiln__host_launch *launch, size_t scope, kiln__frame **around,
                      size_t level)
{
    kiln__range params = {0, 0}, list[KILN__MOST_LIST];
    const size_t name = scope > 1 && level < MOST_LEVELS ? find_template_head(draft, scope, &params) : 0;
    bool any = false;
    if (!name || kind_of_word(draft, name) != 'w')
        return false;
    const size_t count = kiln__words_split(draft, params.from, params.to, true, list);
    for (size_t i = 2; i + 2 < draft->scan->count && draft->launch_count < MOST_LAUNCHES; i++) {
        if (draft->compared++ > KILN__MOST_COMPARED)
            break;
        if (i == name || draft->scan->words[i].directive || !same_word(draft, i, name) ||
            kind_of_word(draft, i + 1) != '<' || kiln__word_close(draft->scan, i + 1) >= draft->scan->count)
            continue;
        if ((around[level] = make_call(draft, i, list, count)) == NULL)
            break;
        any = true;
        if (!add_calls(draft, launch, around[level]->scope.to > i ? around[level]->scope.from : 0, around, level + 1))
            add_framed(draft, launch, around, level + 1);
    }
    return any;
}

/* If the launch is in a case of a switch, gives the variable of the switch the number of this case: `switch (threads) {
 * case 512: ...`. Marks a launch that is under `default:`. */
static void bind_case(kiln__draft *draft, kiln__host_launch *launch)
{
    enum { MOST_BACK = 4000 };
    size_t label = 0, depth = 0;
    for (size_t i = launch->at; i-- > launch->scope.from && launch->at - i < MOST_BACK && !launch->frame;) {
        const char c = kind_of_word(draft, i);
        if (depth == 0 && !label && is_text(draft, i, "default") && kind_of_word(draft, i + 1) == ':') {
            launch->otherwise = true;
            return;
        }
        if (depth == 0 && !label && is_text(draft, i, "case") && kind_of_word(draft, i + 1) == '0' &&
            kind_of_word(draft, i + 2) == ':')
            label = i + 1;
        if (c == '{' && depth == 0 && label && kind_of_word(draft, i - 1) == ')' && kind_of_word(draft, i - 2) == 'w' &&
            kind_of_word(draft, i - 3) == '(' && is_text(draft, i - 4, "switch")) {
            kiln__frame *made = kiln__arena_alloc(draft->arena, sizeof *made);
            if (made)
                *made = (kiln__frame){.names = {i - 2}, .values = {{label, label + 1}}, .count = 1};
            launch->frame = made;
            launch->in_case = true;
            return;
        }
        depth += c == '}';
        if (c == '{' && depth == 0 && label) /* another block contains the case */
            return;
        depth -= depth > 0 && c == '{';
    }
}

void kiln__host_find(kiln__draft *draft)
{
    size_t tried = 0;
    for (size_t i = 2; i + 4 < draft->scan->count && tried < MOST_TRIED && draft->launch_count < MOST_LAUNCHES; i++) {
        const bool chevrons = kiln__words_are_three(draft, i, '<');
        const launch_form form = chevrons ? FORM_NONE : form_at(draft, i);
        kiln__frame *around[MOST_LEVELS] = {NULL};
        if (!chevrons && form == FORM_NONE)
            continue;
        tried++;
        draft->host = (kiln__host_launch){0};
        if (!(chevrons ? read_chevrons(draft, i) : read_launch_call(draft, i, form)))
            continue;
        kiln__host_launch found = draft->host;
        found.found = true;
        bind_case(draft, &found);
        if (found.in_macro || !add_calls(draft, &found, found.scope.from, around, 0))
            add_launch(draft, &found);
    }
    draft->host = draft->launch_count ? draft->launches[0] : (kiln__host_launch){0};
}

/* ---- the choice of a launch ---- */

/* Returns the line of a token in the file that contains it. */
static unsigned line_of(const kiln__draft *draft, size_t word)
{
    const kiln__scan *scan = draft->scan;
    return scan->words[word].line - (scan->launch && word >= scan->launch ? scan->launch_lines : 0);
}

/* Finds the next template call around a launch. Template functions may call each other, so a launch may have several
 * such calls around it, and each of them is a frame. Returns the token of the call, and moves *frame to the frame
 * outside of this call. Returns 0 after the outermost call. */
static size_t next_call(const kiln__frame **frame)
{
    while (*frame && !(*frame)->scope.from)
        *frame = (*frame)->up;
    const size_t call = *frame ? (*frame)->at : 0;
    *frame = *frame ? (*frame)->up : NULL;
    return call;
}

/* Returns the token of the outermost template call around the launch, or 0 if there is no call. Launches that share the
 * inner calls differ in the outermost call. */
static size_t outermost_call(const kiln__host_launch *launch)
{
    const kiln__frame *frame = launch->frame;
    size_t found = 0;
    for (size_t call; (call = next_call(&frame)) != 0;)
        found = call;
    return found;
}

/* Returns true if the launch, or a template call around it, is at this line. */
static bool is_at_line(const kiln__draft *draft, const kiln__host_launch *launch, unsigned line)
{
    const kiln__frame *frame = launch->frame;
    bool found = line_of(draft, launch->at) == line;
    for (size_t call; !found && (call = next_call(&frame)) != 0;)
        found = line_of(draft, call) == line;
    return found;
}

/* Appends one extent of a launch to the key that launch_key() makes: its trees as a text, or its tokens if the extent
 * cannot be read. If a number is also a template argument, the index of the template parameter stands for it. */
static void add_key(kiln__draft *draft, kiln__range range, bool axes, kiln__text *key)
{
    kiln__tree *trees[3] = {NULL};
    const kiln__host_launch *host = &draft->host;
    /* A block of one thread may be the case 1 of a switch over the number of threads. */
    const int64_t least = host->in_case && range.from == host->block.from ? 0 : 1;
    bool read = axes && kiln__host_axes(draft, range, trees);
    if (!axes && range.from)
        read = (trees[0] = kiln__host_read(draft, range)) != NULL;
    for (size_t i = 0; i < host->template_count && read; i++)
        for (int axis = 0; axis < 3; axis++)
            if (host->trees[i] && host->trees[i]->op == '0' && host->trees[i]->value > least)
                kiln__tree_replace(trees[axis], host->trees[i], kiln__arena_printf(draft->arena, "<%u>", (unsigned)i));
    for (int axis = 0; axis < 3 && read; axis++)
        kiln__text_printf(key, ", %s", trees[axis] ? kiln__tree_text(draft, trees[axis]) : "1");
    for (size_t i = range.from; i < range.to && !read; i++)
        kiln__text_printf(key, " %.*s", (int)draft->scan->words[i].length, draft->scan->words[i].text);
    kiln__text_puts(key, ";");
}

/* Returns a text that is equal for two launches if they differ only in arguments of the template and of the kernel. */
static const char *launch_key(kiln__draft *draft, const kiln__host_launch *launch)
{
    kiln__text key = {.mem = draft->mem};
    draft->host = *launch;
    kiln__host_templates(draft);
    add_key(draft, launch->grid, true, &key);
    add_key(draft, launch->block, true, &key);
    add_key(draft, launch->shared, false, &key);
    const char *kept = kiln__arena_strdup(draft->arena, kiln__text_get(&key));
    kiln__text_free(&key);
    return kept;
}

/* Returns the value that a launch gives to a template parameter, such as "64", "float" or "true". Returns NULL if it is
 * not known. */
static const char *template_value(kiln__draft *draft, const kiln__host_launch *launch, size_t param)
{
    int64_t value = 0;
    draft->host = *launch;
    if (draft->kernel->templates[param].type)
        return kiln__type_of_range(draft, launch->templates[param]);
    const kiln__tree *tree = kiln__host_read(draft, launch->templates[param]);
    if (tree && tree->op == 'w' && (!tree->free || kiln__is_enumerator(draft, tree->text)))
        return tree->text;
    return kiln__tree_constant(draft, tree, &value) ? kiln__arena_printf(draft->arena, "%lld", (long long)value) : NULL;
}

static int by_number(const void *a, const void *b)
{
    const long long x = strtoll(*(const char *const *)a, NULL, 10), y = strtoll(*(const char *const *)b, NULL, 10);
    return (x > y) - (x < y);
}

/* Lists the values that the launches give to each template parameter. Adds a constraint that excludes combinations of
 * values which no launch has. */
static void merge_templates(kiln__draft *draft)
{
    kiln__host_launch *first = &draft->launches[0];
    const char *values[MOST_LAUNCHES][KILN__MOST_LIST] = {{NULL}}, *all[MOST_LAUNCHES], *where = NULL;
    size_t varying = 0, product = 1, combinations = 0, count = draft->launch_count;
    const size_t params = first->template_count < draft->kernel->template_count ? first->template_count
                                                                                : draft->kernel->template_count;
    for (size_t p = 0; p < params; p++) {
        size_t distinct = 0;
        for (size_t i = 0; i < count; i++) {
            values[i][p] = template_value(draft, &draft->launches[i], p);
            bool known = values[i][p] == NULL;
            for (size_t k = 0; k < distinct && !known; k++)
                known = strcmp(all[k], values[i][p]) == 0;
            if (!known)
                all[distinct++] = values[i][p];
        }
        if (distinct < 2 || values[0][p] == NULL)
            continue;
        if (all[0][0] >= '0' && all[0][0] <= '9')
            qsort(all, distinct, sizeof *all, by_number);
        for (size_t k = 0; k < distinct; k++)
            first->values[p] = k ? kiln__arena_printf(draft->arena, "%s, %s", first->values[p], all[k]) : all[k];
        varying++;
        product *= distinct;
    }
    for (size_t i = 0; i < count && varying > 1; i++) {
        const char *one = NULL;
        bool known = false;
        for (size_t k = 0; k < i && !known; k++) {
            known = true;
            for (size_t p = 0; p < params; p++)
                known = known && (!first->values[p] ||
                                  (values[i][p] && values[k][p] && strcmp(values[i][p], values[k][p]) == 0));
        }
        for (size_t p = 0; p < params && !known; p++) {
            if (!first->values[p] || !values[i][p])
                continue;
            const bool word = !kiln__is_digit(values[i][p][0]) && !draft->kernel->templates[p].flag;
            const char *quote = word ? "'" : ""; /* a type or an enumerator needs quotes in an expression */
            one = kiln__arena_printf(draft->arena, "%s%s%s == %s%s%s", one ? one : "", one ? " and " : "",
                                     kiln__template_name(draft, draft->kernel->templates[p].name), quote, values[i][p],
                                     quote);
        }
        if (one)
            where = kiln__arena_printf(draft->arena, "%s%s(%s)", where ? where : "", where ? " or " : "", one);
        combinations += one != NULL;
    }
    if (where && combinations < product && draft->where_count < KILN__COUNT(draft->wheres)) {
        draft->where_from[draft->where_count] = "the combinations that the source launches";
        draft->wheres[draft->where_count++] = where;
    }
    draft->host = *first;
}

/* Appends the tokens of a launch, such as `k<64><<<grid, block>>>`, to a text. The text is one line of at most about
 * MOST_SHOWN bytes. */
static void show_launch(const kiln__draft *draft, const kiln__host_launch *launch, kiln__text *out)
{
    enum { MOST_SHOWN = 90 };
    const kiln__word *words = draft->scan->words;
    const size_t begin = out->length;
    for (size_t i = launch->at; i < draft->scan->count && out->length - begin < MOST_SHOWN; i++) {
        if (i > launch->at && words[i].text > words[i - 1].text + words[i - 1].length)
            kiln__text_puts(out, " ");
        kiln__text_add(out, words[i].text, words[i].length);
        if (i > launch->at + 2 && kiln__words_are_three(draft, i - 2, '>'))
            return;
    }
    kiln__text_puts(out, " ...");
}

/* Fails with the list of the launches. The launches differ, or the line that the user gave has no launch. */
static kiln_status ask_launch(kiln__draft *draft, unsigned line, kiln_error **error)
{
    kiln__text list = {.mem = draft->mem};
    const char *file = draft->options && draft->options->launch ? draft->options->launch : NULL;
    size_t last = 0, last_call = 0, shown = 0;
    unsigned example = 0;
    bool places = false; /* true if the launches are in several places of the source; one call may reach all of them */
    for (size_t i = 1; i < draft->launch_count; i++)
        places |= draft->launches[i].at != draft->launches[0].at;
    for (size_t i = 0; i < draft->launch_count; i++) {
        const kiln__host_launch *launch = &draft->launches[i];
        const size_t call = outermost_call(launch);
        if (launch->at == last && call == last_call)
            continue;
        example = shown++ ? example : line_of(draft, call && !places ? call : launch->at);
        last = launch->at;
        last_call = call;
        kiln__text_printf(&list, "\n  line %u: ", line_of(draft, launch->at));
        show_launch(draft, launch, &list);
        if (call)
            kiln__text_printf(&list, ", for the call in line %u", line_of(draft, call));
    }
    const char *begin = line ? kiln__arena_printf(draft->arena, "line %u has no launch of it. Its launches:", line)
                             : kiln__arena_printf(draft->arena, "it is launched in %zu ways:", shown);
    kiln_status status = kiln__fail(draft->mem, error, KILN_ERROR_NOT_FOUND,
                                    "%s: kernel %s: %s%s\nGive the line of the launch that the spec is to have:\n"
                                    "  kiln init %s -k %s --launch %s%s%u",
                                    kiln__kernel_place(draft), draft->kernel->name, begin ? begin : "",
                                    kiln__text_get(&list), draft->shown, draft->kernel->plain, file ? file : "",
                                    file ? ":" : "", example);
    kiln__text_free(&list);
    return status;
}

/* Removes the launches that #if hides from the compiler. If a line is given, also removes the launches at other lines.
 * If no line is given and some launches are in a case of a switch, removes the launches under `default:`. The cases
 * show the numbers for which the kernel is made. */
static void drop_launches(kiln__draft *draft, unsigned line)
{
    size_t kept = 0;
    bool cases = false;
    for (size_t i = 0; i < draft->launch_count && !line; i++)
        cases |= draft->launches[i].in_case;
    for (size_t i = 0; i < draft->launch_count; i++) {
        kiln__tree *condition = NULL;
        draft->host = draft->launches[i];
        if ((line && !is_at_line(draft, &draft->launches[i], line)) || (cases && draft->launches[i].otherwise) ||
            kiln__condition(draft, draft->host.at, 0, &condition) == KILN__NEVER)
            continue;
        draft->launches[kept++] = draft->launches[i];
    }
    draft->launch_count = kept;
}

kiln_status kiln__host_choose(kiln__draft *draft, unsigned line, kiln_error **error)
{
    const size_t count = draft->launch_count, looked = draft->looked, nodes = draft->nodes;
    bool same = true, exclusive = true, one_place = true;
    const char *key = NULL;
    if (count == 0 && !line)
        return KILN_OK;
    drop_launches(draft, line);
    if (draft->launch_count == 0 && line) {
        draft->launch_count = count;
        return count ? ask_launch(draft, line, error)
                     : kiln__fail(draft->mem, error, KILN_ERROR_NOT_FOUND,
                                  "%s: kernel %s: no launch of it (<<<grid, block>>>) is found, neither in line %u nor "
                                  "elsewhere",
                                  kiln__kernel_place(draft), draft->kernel->name, line);
    }
    for (size_t i = 0; i < draft->launch_count; i++) {
        const char *own = launch_key(draft, &draft->launches[i]);
        if (!own)
            return kiln__fail_memory(error);
        same = same && (!key || strcmp(key, own) == 0);
        one_place = one_place && draft->launches[i].at == draft->launches[0].at;
        key = key ? key : own;
        for (size_t k = 0; k < i; k++)
            exclusive = exclusive && kiln__are_exclusive(draft, draft->launches[i].at, draft->launches[k].at);
        /* restores the counters, because the choice must not use up the limits of the chosen launch */
        draft->looked = looked;
        draft->nodes = nodes;
    }
    if (!same && !exclusive)
        return ask_launch(draft, 0, error);
    if (same && draft->launch_count > 1) {
        merge_templates(draft);
        draft->launch_count = 1;
    }
    draft->one_place = one_place;
    draft->host = draft->launch_count ? draft->launches[0] : (kiln__host_launch){0};
    return draft->arena->failed ? kiln__fail_memory(error) : KILN_OK;
}
