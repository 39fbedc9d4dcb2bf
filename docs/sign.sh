#!/bin/sh
# Sends a signed form (docs/ACCESS.md):  KEY=... docs/sign.sh URL NAME=VALUE ...
# The parameters are signed and sent in the order given, each in printable ASCII.
url=$1; shift; set -- "$@" "_t_=$(date +%s)"
text=$(for pair; do printf %s "$pair" | sed 's/[\\"/]/\\&/g; s/=/":"/; s/.*/"&",/'; done)
signature=$(printf '{%s}' "${text%,}" | openssl dgst -sha512 -hmac "$KEY" -r | cut -d ' ' -f 1)
for pair; do set -- "$@" --data-urlencode "$pair"; shift; done
curl -sS "$@" --data-urlencode "_sig_=$signature" "$url"
