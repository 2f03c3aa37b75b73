#!/usr/bin/env bash
# Install and configure podman on an apt machine, and prove that it builds and runs.
#
# usage: docker/setup-podman.sh [STATE_DIR]     default: ${XDG_STATE_HOME:-~/.local/state}/patchkit/podman
#
# Writes STATE_DIR/{containers.conf,storage.conf,env}. patchkit reads the default STATE_DIR by itself when
# CONTAINERS_CONF is not set; a shell does with `. STATE_DIR/env`. Nothing outside STATE_DIR is written.
# exit: 0 proven by a build and a run; 6 no usable engine, the reason is on stderr.
set -euo pipefail

state=${1:-${XDG_STATE_HOME:-$HOME/.local/state}/patchkit/podman}
say() { printf 'setup-podman: %s\n' "$*" >&2; }

# -- packages -------------------------------------------------------------------------------------------------
# mmdebstrap makes the CPU base where no registry is reachable; busybox is the probe's whole root file system.
missing=()
for pair in podman:podman runc:runc busybox:busybox-static mmdebstrap:mmdebstrap git:git; do
  PATH=$PATH:/usr/sbin:/sbin command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
done
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    say "missing: ${missing[*]}; install them as root, then run this again"
    exit 6
  fi
  say "installing ${missing[*]}"
  apt-get -qq -o Acquire::Retries=3 update
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
    install --no-install-recommends "${missing[@]}" >/dev/null
fi

# -- settings -------------------------------------------------------------------------------------------------
# podman asks for nofile=1048576 and nproc=4194304. Without CAP_SYS_RESOURCE that is refused ("error setting
# rlimit type 7"), and podman lowers its own nproc to kernel.pid_max before it asks.
smallest() { printf '%s\n' "$@" | grep -v unlimited | sort -n | head -n 1; }
nofile=$(smallest 65536 "$(ulimit -Hn)")
nproc=$(smallest 16384 "$(ulimit -Hu)" "$(cat /proc/sys/kernel/pid_max)")

mkdir -p "$state"
state=$(cd "$state" && pwd)
export CONTAINERS_CONF=$state/containers.conf CONTAINERS_STORAGE_CONF=$state/storage.conf

write_storage() { # DRIVER; a graphroot keeps the driver that it was made with, so each has its own
  cat >"$CONTAINERS_STORAGE_CONF" <<END
[storage]
driver = "$1"
graphroot = "$state/graph-$1"
runroot = "$state/run"
END
}

write_engine() { # RUNTIME
  cat >"$CONTAINERS_CONF" <<END
[engine]
runtime = "$1"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
default_ulimits = ["nofile=$nofile:$nofile", "nproc=$nproc:$nproc"]
netns = "none"
END
}

# -- proof ----------------------------------------------------------------------------------------------------
probe=$(mktemp -d "${TMPDIR:-/tmp}/patchkit-probe.XXXXXX")
trap 'rm -rf "$probe"' EXIT
cp "$(command -v busybox)" "$probe/busybox"
printf 'FROM scratch\nCOPY busybox /bin/busybox\nRUN ["/bin/busybox", "true"]\n' >"$probe/Dockerfile"

works() { # a RUN step, and an exit status that comes through
  local status=0
  rm -f "$probe/id"
  timeout 120 podman build -q --no-cache --network=none --iidfile "$probe/id" "$probe" >"$probe/log" 2>&1 || return 1
  [ -s "$probe/id" ] || return 1
  timeout 60 podman run --rm --pull=never --network=none --read-only --cap-drop=all --memory=64m --pids-limit=32 \
    "$(cat "$probe/id")" /bin/busybox sh -c 'exit 42' >>"$probe/log" 2>&1 || status=$?
  podman rmi -f "$(cat "$probe/id")" >/dev/null 2>&1 || true
  [ "$status" = 42 ]
}

for runtime in runc crun; do
  PATH=$PATH:/usr/sbin:/sbin command -v "$runtime" >/dev/null || continue
  for driver in overlay vfs; do
    write_storage "$driver"
    write_engine "$runtime"
    if works; then
      printf 'export CONTAINERS_CONF=%q CONTAINERS_STORAGE_CONF=%q\n' "$CONTAINERS_CONF" "$CONTAINERS_STORAGE_CONF" >"$state/env"
      say "ok: $(podman --version), $runtime, $driver, nofile=$nofile, nproc=$nproc; settings in $state"
      exit 0
    fi
    say "$runtime with $driver does not work here: $(tail -n 1 "$probe/log")"
  done
done
rm -f "$state/env" "$CONTAINERS_CONF" "$CONTAINERS_STORAGE_CONF"
exit 6
