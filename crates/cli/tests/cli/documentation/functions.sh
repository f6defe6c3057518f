# What the script of a page is made of. Usage: bash functions.sh PAGE_SCRIPT
#
# An `as_NAME` function parses a block that is marked <!-- as: NAME --> by the program itself: it gets the block as its
# standard input, and fails, saying why, if the block is not a good NAME. A new kind of file is a new function here.
set -eEuo pipefail

PLACE="" PROJECT=$PWD

failed() {
    local code=$?
    [[ -e $DOC_SCRATCH/fault ]] || printf '%s: `%s` ended with %s' "$PLACE" "$1" "$code" >"$DOC_SCRATCH/fault"
}
trap 'failed "$BASH_COMMAND"' ERR

stop_servers() {
    local pid
    for pid in $(cat "$DOC_SCRATCH/servers" 2>/dev/null); do
        kill "$pid" 2>/dev/null || true
    done
}
trap stop_servers EXIT

# Pages use `jq .FIELD`, which is not installed everywhere.
if ! command -v jq >/dev/null; then
    jq() {
        python3 -c 'import json, sys
for line in sys.stdin: print(json.loads(line)[sys.argv[1].lstrip(".")])' "${@: -1}"
    }
fi

# A block begins, in the folder of the project, whatever the one before did.
begin() {
    PLACE=$1
    export DOC_EXITS=$2
    cd "$PROJECT"
}

# The block as a file; one that begins with #! can be executed.
write_file() {
    local path=${1/#\~/$HOME}
    mkdir -p "$(dirname "$path")"
    cat >"$path"
    if [[ $(head -c 2 "$path") == '#!' ]]; then
        chmod +x "$path"
    fi
}

# A home for one block alone, as $UPDRAFT_HOME in a subshell.
fresh() {
    UPDRAFT_HOME=$(mktemp -d "$DOC_SCRATCH/fresh.XXXXXX")
    export UPDRAFT_HOME
    mkdir "$UPDRAFT_HOME/ws"
    cd "$UPDRAFT_HOME/ws"
}

as_settings() (
    fresh
    cat >../config.toml
    updraft config show
)

as_servers() (
    fresh
    cat >../mcp.json
    updraft mcp list
)

as_agent() (
    fresh
    mkdir ../agents
    cat >../agents/sample.md
    name=$(sed -n 's/^name: *//p' ../agents/sample.md | head -1)
    listed=$(updraft agents)
    printf '%s\n' "$listed"
    grep -q "^${name:-sample} " <<<"$listed"
    ! grep -A1 "^${name:-sample} " <<<"$listed" | grep 'ignored:'
)

as_guardrail() (
    fresh
    mkdir ../guardrails
    cat >../guardrails/sample.md
    printf '[{"text": "{\\"verdict\\": \\"pass\\"}"}]' >../script.json
    said=$(updraft run --model "scripted/$UPDRAFT_HOME/script.json" --agent thinker x 2>&1) || true
    printf '%s\n' "$said"
    ! grep 'guardrails/sample.md' <<<"$said"
)

as_skill() (
    fresh
    cat >sample.md
    name=$(sed -n 's/^name: *//p' sample.md | head -1)
    mkdir "$name"
    mv sample.md "$name/SKILL.md"
    updraft skills "$name"
)

as_plan() (
    fresh
    cat >plan.json
    updraft run --plan plan.json --plan-only x
)

as_guardrail_function() (
    fresh
    mkdir ../guardrails
    cat >../guardrails/sample.py
    printf '[{"text": "fine"}]' >../script.json
    said=$(updraft run --model "scripted/$UPDRAFT_HOME/script.json" --agent thinker x 2>&1) || true
    printf '%s\n' "$said"
    ! grep 'guardrails/sample.py' <<<"$said"
)

as_recipe() (
    fresh
    cat >sample.md
    updraft recipes check sample.md
)

as_recipe_yaml() (
    fresh
    cat >sample.yaml
    updraft recipes check sample.yaml
)

as_tools() (
    fresh
    mkdir tools
    cat >tools/sample.py
    updraft tools check
)

# shellcheck disable=SC1090
source "$1"
