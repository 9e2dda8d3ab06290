#!/bin/sh
# The agent of the server's benches: "wait" until it is ended, "tick N" times what time it is, anything else is said back.
read -r verb count
case $verb in
  wait) exec sleep 1000 ;;
  tick)
    while [ "$count" -gt 0 ]; do
      date +%s%3N
      sleep 0.02
      count=$((count - 1))
    done
    ;;
  *) echo "$verb" ;;
esac
