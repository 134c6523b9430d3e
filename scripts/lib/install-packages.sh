#!/bin/sh
# Installs packages on Debian and its relatives, as root and without questions, and leaves no service behind: the tests
# start servers of their own, and port 6379 belongs to the user.
set -eu

policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' > "$policy" # 101: starting a service is forbidden
  chmod +x "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends "$@"
for package in "$@"; do
  for service in "$package" "${package%-server}"; do
    if [ -e "/etc/init.d/$service" ]; then update-rc.d "$service" disable; fi
  done
done
