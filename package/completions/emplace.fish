# Completes command lines of emplace in fish: the program itself knows what may come next.
function __emplace_complete
    set -l words (commandline -opc)
    command -q $words[1]; or return
    set -l current (commandline -ct)
    set -l answer ($words[1] __complete $words[2..] "$current" 2>/dev/null)
    printf '%s\n' $answer[..-2]
    set -l option (string match -r -- '^--[^=]*=' $current)
    set -l value (string replace -r -- '^--[^=]*=' '' "$current")
    switch "$answer[-1]"
        case :files
            printf "$option%s\n" (__fish_complete_path "$value")
        case :folders
            printf "$option%s\n" (__fish_complete_directories "$value")
    end
end
complete -c emplace -f -a '(__emplace_complete)'
