_isthmus() {
  local current=${COMP_WORDS[COMP_CWORD]}
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W 'serve validate check explain diff schema key validate-request infer replay health problems errors gateways servers models top tap ramps shadows drift cache call audit logging completion help version --help --version' -- "$current"))
    return
  fi
  case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in
    "validate --output"|"validate -o") COMPREPLY=($(compgen -W 'text json sarif github gitlab' -- "$current")) ;;
    "check --output"|"check -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "explain --output"|"explain -o") COMPREPLY=($(compgen -W 'text json' -- "$current")) ;;
    "validate-request --output"|"validate-request -o") COMPREPLY=($(compgen -W 'text json' -- "$current")) ;;
    "infer --output"|"infer -o") COMPREPLY=($(compgen -W 'text json' -- "$current")) ;;
    "replay --form") COMPREPLY=($(compgen -W 'auto json binary' -- "$current")) ;;
    "replay --output"|"replay -o") COMPREPLY=($(compgen -W 'text json' -- "$current")) ;;
    "health --output"|"health -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "problems --output"|"problems -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "errors --output"|"errors -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "gateways --output"|"gateways -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "servers --output"|"servers -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "models --output"|"models -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "top --output"|"top -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "tap --output"|"tap -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "ramps --output"|"ramps -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "ramps --do") COMPREPLY=($(compgen -W 'pause resume restart rollback' -- "$current")) ;;
    "shadows --output"|"shadows -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "drift --output"|"drift -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "cache --output"|"cache -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "call --output"|"call -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "audit --output"|"audit -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "logging --output"|"logging -o") COMPREPLY=($(compgen -W 'table json' -- "$current")) ;;
    "logging --level") COMPREPLY=($(compgen -W 'error warn info debug default' -- "$current")) ;;
    "logging --logger") COMPREPLY=($(compgen -W 'access admin audit calls catalogue clients fleet gateway libraries local ramps shadows tls' -- "$current")) ;;
    "completion completion") COMPREPLY=($(compgen -W 'bash zsh fish' -- "$current")) ;;
    "help help") COMPREPLY=($(compgen -W 'serve validate check explain diff schema key validate-request infer replay health problems errors gateways servers models top tap ramps shadows drift cache call audit logging completion help version' -- "$current")) ;;
  esac
  [[ ${#COMPREPLY[@]} = 0 && $current == -* ]] || return
  case ${COMP_WORDS[1]} in
    serve) COMPREPLY=($(compgen -W '--config --port --host --no-watch --help' -- "$current")) ;;
    validate) COMPREPLY=($(compgen -W '--probe --timeout --output --help' -- "$current")) ;;
    check) COMPREPLY=($(compgen -W '--config --timeout --output --help' -- "$current")) ;;
    explain) COMPREPLY=($(compgen -W '--version --header --parameter --as --group --claim --listener --output --help' -- "$current")) ;;
    diff) COMPREPLY=($(compgen -W '--help' -- "$current")) ;;
    schema) COMPREPLY=($(compgen -W '--layers --help' -- "$current")) ;;
    key) COMPREPLY=($(compgen -W '--help' -- "$current")) ;;
    validate-request) COMPREPLY=($(compgen -W '--file --url --token-file --ca-file --output --help' -- "$current")) ;;
    infer) COMPREPLY=($(compgen -W '--file --url --grpc --count --concurrency --header --token-file --ca-file --output --help' -- "$current")) ;;
    replay) COMPREPLY=($(compgen -W '--to --ca-file --grpc --form --header --model --compare --rtol --atol --rate --concurrency --output --help' -- "$current")) ;;
    health) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --help' -- "$current")) ;;
    problems) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --help' -- "$current")) ;;
    errors) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --help' -- "$current")) ;;
    gateways) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --help' -- "$current")) ;;
    servers) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --reason --force --help' -- "$current")) ;;
    models) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --help' -- "$current")) ;;
    top) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --once --interval --help' -- "$current")) ;;
    tap) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --model --code --caller --upstream --count --help' -- "$current")) ;;
    ramps) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --model --do --help' -- "$current")) ;;
    shadows) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --help' -- "$current")) ;;
    drift) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --help' -- "$current")) ;;
    cache) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --help' -- "$current")) ;;
    call) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --help' -- "$current")) ;;
    audit) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --help' -- "$current")) ;;
    logging) COMPREPLY=($(compgen -W '--admin --token-file --ca-file --output --level --logger --for --help' -- "$current")) ;;
    completion) COMPREPLY=($(compgen -W '--help' -- "$current")) ;;
    help) COMPREPLY=($(compgen -W '--help' -- "$current")) ;;
    version) COMPREPLY=($(compgen -W '--help' -- "$current")) ;;
  esac
}
complete -o default -F _isthmus isthmus
