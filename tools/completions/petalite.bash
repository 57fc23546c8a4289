# Completion of the petalite command for bash: commands and options as the command itself lists them, files elsewhere.
_petalite() {
  local word=${COMP_WORDS[COMP_CWORD]} command="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      -*) ;;
      *) command="${COMP_WORDS[i]}"; break ;;
    esac
  done
  local sub=()
  [ -n "$command" ] && sub=("$command")
  if [ "$command" = bench ] && ((i + 1 < COMP_CWORD)); then sub+=("${COMP_WORDS[i + 1]}"); fi
  if [[ $word == -* ]]; then
    local options
    options=$("${COMP_WORDS[0]}" "${sub[@]}" --help 2>/dev/null | sed -nE 's/^ +((-[a-zA-Z],)?--[a-z-]+).*/\1/p' | tr ',' '\n')
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    return
  fi
  if [ -z "$command" ] || { [ "$command" = bench ] && ((COMP_CWORD == i + 1)); }; then
    local commands
    commands=$("${COMP_WORDS[0]}" "${sub[@]}" --help 2>/dev/null | sed -n '/^Subcommands:/,$p' | grep -oE '^  [a-z]+')
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
    return
  fi
  compopt -o default 2>/dev/null
}
complete -F _petalite petalite
