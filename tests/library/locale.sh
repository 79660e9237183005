#!/bin/sh
# locale.sh make FOLDER: makes four locales in FOLDER, for the tests with the label `locale`. Three of them have a decimal
#   comma, and one of these has other capital letters for i. The fourth one has a decimal point of two bytes.
# locale.sh host FOLDER PROGRAM SPEC: runs PROGRAM (locale_host.c) in the C locale and in each of these locales. The output
#   must be the same.
set -u
folder=$2
locales='de_DE.UTF-8 tr_TR.UTF-8 de_DE.ISO-8859-1 ps_AF.UTF-8'
case $1 in
make)
    command -v localedef >/dev/null || { echo "SKIP tool: there is no localedef, which makes locales"; exit 77; }
    mkdir -p "$folder" || exit 1
    for locale in $locales; do
        [ -e "$folder/$locale/LC_CTYPE" ] && continue
        [ -e "/usr/share/i18n/locales/${locale%%.*}" ] || { echo "SKIP tool: no locale $locale: package locales"; exit 77; }
        # Makes the locale without an archive. A warning of localedef is no failure.
        localedef --no-archive -c -i "${locale%%.*}" -f "${locale#*.}" "$folder/$locale.new" >/dev/null 2>&1
        [ -e "$folder/$locale.new/LC_CTYPE" ] || { echo "localedef makes no $locale"; exit 1; }
        mv "$folder/$locale.new" "$folder/$locale" || exit 1
    done
    ;;
host)
    work=$(mktemp -d) || exit 1
    trap 'rm -rf "$work"' EXIT
    unset KILN_PATH KILN_STORE LC_NUMERIC LC_CTYPE LANG || true
    export KILN_CACHE_DIR="$work/cache" LOCPATH="$folder"
    failed=0
    for locale in C $locales; do
        mkdir "$work/$locale"
        LC_ALL=$locale "$3" "$4" "$work/$locale" >"$work/$locale.out" 2>"$work/$locale.err"
        code=$?
        sort -o "$work/$locale.out" "$work/$locale.out" # the order in which compiles end is random
        [ $code = 77 ] && { echo "SKIP tool: $(cat "$work/$locale.err")"; exit 77; }
        [ $code = 0 ] || { echo "$locale: exit code $code"; cat "$work/$locale.err"; failed=1; }
        diff -u "$work/C.out" "$work/$locale.out" || failed=1
        case $locale in C) point=\'.\' ;; ps*) point=\'٫\' ;; *) point=\',\' ;; esac
        grep -q "is $point" "$work/$locale.err" || { echo "$locale: $(cat "$work/$locale.err"), not $point"; failed=1; }
    done
    grep -q '^0 of 4 failed' "$work/C.out" || { echo 'the samples fail in the C locale:'; cat "$work/C.out"; failed=1; }
    exit $failed
    ;;
*) exit 2 ;;
esac
