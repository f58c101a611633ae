#compdef %(prog_name)s

%(complete_func)s() {
    local -a response plain more plain_help more_help
    local kind value help
    response=("${(@0)$(COMP_LINE="${words[1,CURRENT-1]} $QIPREFIX$PREFIX" \
        %(complete_var)s=zsh_complete ${~words[1]} 2>/dev/null)}")
    for kind value help in "${response[@]}"; do
        [[ $kind == plain ]] && plain+=("$value") plain_help+=("$help")
        [[ $kind == more ]] && more+=("$value") more_help+=("$help")
    done
    (( $#plain )) && compadd -l -d plain_help -a plain
    (( $#more )) && compadd -S '' -l -d more_help -a more
    return 0
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
