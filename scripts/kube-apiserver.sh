#!/usr/bin/env bash
# Prints the path of a kube-apiserver for tests, after having built it if there is none: from Debian's source package, which
# holds the whole tree, once, in some four minutes of two cores. etcd and openssl come from Debian as well. Needs root and apt.
# What is built stays in $KUBE_CACHE.
set -euo pipefail
cache=${KUBE_CACHE:-/var/cache/kube-apiserver}
binary=$cache/kube-apiserver
exec 3>&1 1>&2
export DEBIAN_FRONTEND=noninteractive

missing=()
command -v etcd >/dev/null || missing+=(etcd-server)
command -v openssl >/dev/null || missing+=(openssl)
[ -x "$binary" ] || missing+=(golang-go)
if [ ${#missing[@]} -gt 0 ]; then
  apt-get update -q
  apt-get install -y -q --no-install-recommends "${missing[@]}"
fi

if [ ! -x "$binary" ]; then
  mkdir -p "$cache/lists/partial" "$cache/src"
  # Sources from where packages come from, without a word in /etc.
  archive=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' |
    awk '$2 == "bookworm" && $3 == "main" { print $1; exit }')
  echo "deb-src $archive bookworm main" > "$cache/sources.list"
  sources=(-q -o "Dir::Etc::sourcelist=$cache/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$cache/lists"
    -o APT::Sandbox::User=root)
  apt-get "${sources[@]}" update
  (cd "$cache/src" && apt-get "${sources[@]}" source --download-only kubernetes)

  export GO111MODULE=off CGO_ENABLED=0 GOPATH=$cache/go GOCACHE=$cache/gocache
  tree=$GOPATH/src/k8s.io/kubernetes
  rm -rf "$tree" && mkdir -p "$tree"
  tar xzf "$cache"/src/kubernetes_*.orig.tar.gz -C "$tree" --strip-components=1
  cd "$tree"
  # The package lacks one file that is generated: the OpenAPI definitions.
  go build -o "$cache/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
  inputs=$(for dir in pkg vendor/k8s.io/*/; do grep -rl '+k8s:openapi-gen=' --include='*.go' "$dir" || true; done |
    xargs -n1 dirname | sort -u | grep -vE 'code-generator|sample-apiserver|_examples|testdata' |
    sed 's#^#k8s.io/kubernetes/#' | paste -sd,)
  "$cache/openapi-gen" --logtostderr -i "$inputs" -O zz_generated.openapi -p k8s.io/kubernetes/pkg/generated/openapi \
    -h hack/boilerplate/boilerplate.generatego.txt --output-base "$GOPATH/src" -r /dev/null
  go build -o "$binary.new" ./cmd/kube-apiserver
  mv "$binary.new" "$binary"
  rm -rf "$GOPATH" "$GOCACHE" "$cache/src"
fi
echo "$binary" >&3
