function %(complete_func)s
    set -lx COMP_LINE (commandline -cp | string collect)
    %(complete_var)s=fish_complete %(prog_name)s 2>/dev/null | string split0
end
complete --no-files --keep-order --command %(prog_name)s --arguments "(%(complete_func)s)"
