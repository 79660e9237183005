# shellcheck shell=sh disable=SC2034  # used by the scripts that read this one
# quick.sh - functions for the scripts in this folder. make_quick SPEC FOLDER writes a copy of a spec with the option
# -Ofc=mid to FOLDER. NVRTC then optimises less, and takes a fifth of the time. The function sets `used` to the path of the
# copy, and `folders` to the options of kiln that the copy needs.
make_quick() {
    used=$2/$(basename "$1") folders="-I $(dirname "$1")/../kernel_src"
    sed 's/^source:/options: [-Ofc=mid]\n&/' "$1" >"$used"
    ! cmp -s "$1" "$used" || { echo "$1 has no source" >&2; exit 1; }
}

# Returns whether an output says that NVRTC has no such option, because it is too old.
lacks_option() { case $1 in *"unrecognized option"*) ;; *) return 1 ;; esac; }
