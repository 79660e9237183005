#!/bin/sh
# release.sh SOURCE_FOLDER: tests in a new repository that tools/release.sh --quick accepts a good state, and that it
# refuses each planted fault.
set -eu
source=$1
command -v git >/dev/null || { echo "SKIP tool: there is no git"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work" GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=T GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=T \
    GIT_COMMITTER_EMAIL=t@example.org
mkdir -p "$work/good/tools" "$work/good/engine/include"
cp "$source/tools/release.sh" "$work/good/tools"
# The test uses the real build file and the real header, so that it notices a change of their form.
cp "$source/CMakeLists.txt" "$work/good"
cp "$source/engine/include/kiln.h" "$work/good/engine/include"
version=$(sed -n 's/^project(kiln VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
printf '# Changelog\n\n## [Unreleased]\n\n## [%s]\n\n- A note.\n\n## [0.0.1]\n\n- Older.\n' "$version" >"$work/good/CHANGELOG.md"
git -C "$work/good" init -q
git -C "$work/good" add -A
git -C "$work/good" commit -qm first

accepted=$("$work/good/tools/release.sh" "$version" --quick)
[ "$accepted" = "release.sh: $version: the tree, the version and the changelog are ready" ] || { echo "FAIL: $accepted"; exit 1; }

count=0
refuses() { # MESSAGE COMMAND [ARGUMENT...]: runs COMMAND in a copy; then the script must refuse with MESSAGE
    want=$1 fault=$2
    shift 2
    rm -rf "$work/bad"
    cp -r "$work/good" "$work/bad"
    (cd "$work/bad" && sh -euc "$fault")
    if got=$("$work/bad/tools/release.sh" "${@:-$version}" --quick 2>&1); then
        echo "FAIL: accepted, though it should say: $want"
        exit 1
    fi
    case $got in *"$want"*) count=$((count + 1)) ;; *) echo "FAIL: '$got', not '$want'"; exit 1 ;; esac
}
commit='git commit -qam fault'
refuses 'the work tree has changes' 'echo x >new'
refuses "the tag v$version exists" "git tag v$version"
refuses 'CMakeLists.txt has version 9.9.9' "sed -i 's/^project(kiln VERSION [0-9.]*/project(kiln VERSION 9.9.9/' CMakeLists.txt; $commit"
refuses 'kiln.h has version 9.9.9' "sed -i 's/KILN_VERSION \".*\"/KILN_VERSION \"9.9.9\"/' engine/include/kiln.h; $commit"
refuses 'the parts of the version' "sed -i 's/KILN_VERSION_PATCH .*/KILN_VERSION_PATCH 99/' engine/include/kiln.h; $commit"
refuses "has no notes below '## [$version]'" "sed -i '/A note/d' CHANGELOG.md; $commit"
refuses 'has notes below Unreleased' "sed -i 's/^## .Unreleased.*/&\n\n- Forgotten./' CHANGELOG.md; $commit"
refuses 'is not MAJOR.MINOR.PATCH' : 1.2
refuses '--tag needs all checks' : "$version" --tag
echo "release.sh: accepts what is right, refuses $count faults"
