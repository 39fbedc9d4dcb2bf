#!/bin/sh
# Runs schemathesis over a part of the API, on a built product of its own in an empty folder:
#
#   python3 -m venv VENV && VENV/bin/pip install schemathesis==4.32.5
#   scripts/fuzz-api.sh VENV FOLDER PART [OPTIONS of schemathesis, such as --max-examples 20]
#
# PART: `realtime` for the charging port, or a regular expression for paths of the control plane,
# such as `^/billapi/(plans|rates)/`, or `/` for all. Both ports are open to this machine: a token
# would expire. The phase `coverage` sends thousands of requests to each write of the entity API;
# `--phases examples,fuzzing` leaves it out.
set -eu
FUZZER=$(cd "$1" && pwd)/bin/schemathesis
mkdir -p "$2"
DATA=$(cd "$2" && pwd)
PART=$3
shift 3
cd "$(dirname "$0")/.."
ADMIN=http://127.0.0.1:18182
export TOLLGATE_DATA_DIR="$DATA" TOLLGATE_CLOCK_TEST=true TOLLGATE_CLOCK=2026-01-15T12:00:00Z
export TOLLGATE_ADMIN_PORT=18182 TOLLGATE_REALTIME_PORT=18181 TOLLGATE_DIAMETER_PORT=18183
export TOLLGATE_ADMIN_OPEN_TO=loopback
node scripts/provide-redis.mjs "$DATA/redis"
node bin/tollgate.mjs start >"$DATA/product.log" 2>&1 &
PRODUCT=$!
trap 'kill $PRODUCT; wait $PRODUCT || true' EXIT
trap 'exit 1' INT TERM
until grep -q 'balance show' "$DATA/product.log"; do
  kill -0 $PRODUCT
  sleep 1
done

# Other checks take any answer with HTTP status 200 for success: refusals have `status` 0.
CHECKS=not_a_server_error,status_code_conformance,content_type_conformance
CHECKS=$CHECKS,response_headers_conformance,response_schema_conformance
if [ "$PART" = realtime ]; then
  set -- $ADMIN/openapi/realtime.json --url http://127.0.0.1:18181 "$@"
else
  set -- $ADMIN/openapi.json --url $ADMIN --include-path-regex "$PART" "$@"
fi
# It leaves a cache where it runs.
cd "$DATA"
"$FUZZER" run --checks $CHECKS --phases examples,coverage,fuzzing \
  --continue-on-failure --no-shrink --generation-database none "$@"
