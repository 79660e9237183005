#!/bin/sh
# release.sh VERSION [--tag]: checks that the commit HEAD can be released as VERSION (0.2.0); with --tag it then makes the
# annotated tag vVERSION, whose message is the section of the changelog. It pushes nothing: `git push origin vVERSION` does.
#
#   tools/release.sh 0.2.0 --quick    only the checks that take seconds
#   tools/release.sh 0.2.0            also tools/test.sh whole, and tests/bare/run.sh on Debian 12 and Ubuntu 24.04 (needs root)
#
# It checks: the work tree is clean; the version of the build, of the header and of the changelog is VERSION; the tag does
# not exist; the changelog's section has notes, and Unreleased has none; everything that was tested passes.
set -eu
cd "$(dirname "$0")/.."
fail() { echo "release.sh: $*" >&2; exit 1; }

version= tag=0 quick=0
for argument; do
    case $argument in
    --tag) tag=1 ;;
    --quick) quick=1 ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) fail "unknown option '$argument' (try --help)" ;;
    *) [ -z "$version" ] || fail "two versions: $version and $argument"; version=$argument ;;
    esac
done
[ -n "$version" ] || fail "which version? (try --help)"
echo "$version" | grep -qxE '(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)' || fail "'$version' is not MAJOR.MINOR.PATCH"
[ $tag = 0 ] || [ $quick = 0 ] || fail "--tag needs all checks: leave out --quick"

# ---- the tree ----
[ -z "$(git status --porcelain)" ] || fail "the work tree has changes: commit them first"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || fail "the tag v$version exists already"

# ---- the version: the build has it, and the header, whose readers have no CMake, repeats it ----
built=$(sed -n 's/^project(kiln VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ "$built" = "$version" ] || fail "CMakeLists.txt has version $built"
header() { sed -n "s/^#define KILN_VERSION$1 \"\{0,1\}\([0-9.]*\)\"\{0,1\}\$/\1/p" engine/include/kiln.h; }
[ "$(header '')" = "$version" ] || fail "engine/include/kiln.h has version $(header '')"
parts=$(header _MAJOR).$(header _MINOR).$(header _PATCH)
[ "$parts" = "$version" ] || fail "the parts of the version in engine/include/kiln.h are $parts"

# ---- the changelog ----
section() { # the lines below `## [NAME]`, up to the next section
    awk -v name="## [$1]" 'index($0, "## [") == 1 { on = index($0, name) == 1; next } on' CHANGELOG.md
}
notes=$(section "$version")
[ -n "$(echo "$notes" | tr -d '[:space:]')" ] || fail "CHANGELOG.md has no notes below '## [$version]'"
[ -z "$(section Unreleased | grep '^-' || :)" ] || fail "CHANGELOG.md has notes below Unreleased: move them below '## [$version]'"
echo "release.sh: $version: the tree, the version and the changelog are ready"
[ $quick = 0 ] || exit 0

# ---- the tests ----
tools/test.sh whole
for system in debian-12 ubuntu-24.04; do
    tests/bare/run.sh --commit HEAD "$system"
done
echo "release.sh: $version: all tests pass"
if [ $tag = 1 ]; then
    printf 'Kiln %s\n\n%s\n' "$version" "$notes" | git tag -a --cleanup=whitespace -F - "v$version"
    echo "release.sh: v$version is made; to publish it: git push origin v$version"
fi
