#!/bin/sh
# Stands in for an old Go. It says its version, and downloads a toolchain as Go leaves a module: nothing may be executed,
# and go.mod files have another name. What it downloads says how it was called.
set -eu
case "$1 $2" in
"env GOVERSION")
    printf 'go1.19.8\nlinux\namd64\n'
    ;;
"mod download")
    for module; do :; done
    case $module in
    *go9.*) echo "go: $module: no such version" >&2; exit 1 ;;
    esac
    folder=$GOMODCACHE/$module
    mkdir -p "$folder/bin" "$folder/pkg/tool/linux_amd64" "$folder/src"
    cat > "$folder/bin/go" <<'GO'
#!/bin/sh
root=$(dirname "$(dirname "$0")")
test -s "$root/src/go.mod"
"$root/pkg/tool/linux_amd64/compile" "${root##*@v0.0.1-}"
GO
    cat > "$folder/pkg/tool/linux_amd64/compile" <<'COMPILE'
#!/bin/sh
echo "$1 compiles with GOTOOLCHAIN=$GOTOOLCHAIN"
COMPILE
    echo 'module std' > "$folder/src/_go.mod"
    echo 1 >> "$GOMODCACHE/downloads"
    chmod 0444 "$folder/bin/go" "$folder/pkg/tool/linux_amd64/compile"
    ;;
*)
    echo "an old go is not asked to $*" >&2
    exit 1
    ;;
esac
