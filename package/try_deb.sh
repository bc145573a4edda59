#!/bin/sh
# Installs the Debian packages into a fresh Debian 12 and tries the program there, as a plain user without a compiler:
#   package/try_deb.sh [FOLDER]
# FOLDER has the packages: build/release/packages unless told otherwise. Needs root. Mirrors and proxies are those of
# this machine's apt. What is mounted is seen by these commands only and ends with them, and the new system is removed.
set -eu

cd "$(dirname "$(readlink -f "$0")")/.."
packages=${1:-build/release/packages}
.ci/setup package
scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT
trap 'exit 130' INT TERM
root=$scratch/root

sources() {
  apt-get indextargets --format "$1" 'Created-By: Packages' 'Origin: Debian' | sort -u
}
# Runs a command as root of the new system.
inside() {
  # shellcheck disable=SC2016  # the inner shell fills these in
  unshare --mount --pid --fork --kill-child -- sh -eu -c \
    'mount -t proc proc "$1/proc"; exec chroot "$@"' sh "$root" "$@"
}
# Runs a command as a plain user there.
as_user() {
  inside runuser --login reader --command "$1"
}

# shellcheck disable=SC2016  # apt fills these in
mirror=$(sources '$(RELEASE) $(REPO_URI)' | sed -n 's/^bookworm //p' | head -n 1)
echo "try_deb: a fresh Debian 12"
unshare --mount debootstrap --variant=minbase bookworm "$scratch/root" "${mirror:?apt has no source of bookworm}" \
  >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
# shellcheck disable=SC2016
sources 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' >"$root/etc/apt/sources.list"
apt-config dump Acquire >"$root/etc/apt/apt.conf.d/90host"
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages"

inside apt-get -qq update
# The names of all packages end with version and architecture.
inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get -qq -y install /packages/emplace_*.deb' >"$scratch/log" 2>&1 ||
  { cat "$scratch/log"; exit 1; }
echo "try_deb: emplace is installed; the others could be"
inside sh -c 'apt-get -qq --simulate install /packages/*.deb' >/dev/null

inside useradd --create-home --shell /bin/sh reader
for compiler in cc c++ gcc g++ clang make ninja cmake; do
  ! as_user "command -v $compiler" || { echo "try_deb: $compiler is there" >&2; exit 1; }
done
for file in man/man1/emplace.1.gz man/man1/emplace-run.1.gz bash-completion/completions/emplace \
  zsh/vendor-completions/_emplace fish/vendor_completions.d/emplace.fish doc/emplace/copyright; do
  as_user "test -s /usr/share/$file" || { echo "try_deb: no /usr/share/$file" >&2; exit 1; }
done
as_user "emplace --version"
as_user "emplace __complete ru" | grep '^run	'
as_user "emplace list agents" >"$scratch/agents"
grep '^ *heft ' "$scratch/agents"
as_user "emplace run quickstart" >"$scratch/quickstart"
grep -A 3 '^inception-v3 on p2-8xlarge-4' "$scratch/quickstart"
echo "try_deb: all passed"
