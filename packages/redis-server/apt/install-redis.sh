#!/bin/sh
# Installs the package redis-server and leaves its service stopped and disabled, as only its program is wanted.
# Runs as root, asks nothing, waits for another apt to finish. Where the package was there before, its service is left as it is.
set -e
export DEBIAN_FRONTEND=noninteractive

had_package=no
if dpkg -s redis-server >/dev/null 2>&1; then had_package=yes; fi

# policy-rc.d is what packages ask before they start a service; 101 says no.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' INT TERM
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

apt-get -o DPkg::Lock::Timeout=300 -qq update || true
apt-get -o DPkg::Lock::Timeout=300 -qq install -y --no-install-recommends redis-server

if [ "$had_package" = no ]; then
  service redis-server stop >/dev/null 2>&1 || true
  if command -v systemctl >/dev/null 2>&1; then systemctl disable redis-server >/dev/null 2>&1 || true; fi
  update-rc.d redis-server disable >/dev/null 2>&1 || true
fi
