%(complete_func)s() {
    mapfile -d '' -t COMPREPLY < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORD="$2" \
        %(complete_var)s=bash_complete "${1/#\~/$HOME}" 2>/dev/null)
    compopt -o nospace
}
complete -F %(complete_func)s %(prog_name)s
