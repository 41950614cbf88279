#!/usr/bin/env bash
# The guard of a set: it outlives the owner for a moment and ends what is left.
# Standard input, one order a line:  + <pgid>   a group runs       - <pgid>   it has ended
#                                    d <path>   remove at the end  k <path>   keep after all
# End of file means that the owner is gone, in whatever way.
declare -A groups folders
while read -r order what; do
  case "$order" in
    +) groups[$what]=1 ;;
    -) unset "groups[$what]" ;;
    d) folders[$what]=1 ;;
    k) unset "folders[$what]" ;;
  esac
done

alive() {
  local group
  for group in "${!groups[@]}"; do kill -0 -- "-$group" 2>/dev/null && return 0; done
  return 1
}
send() {
  local group
  for group in "${!groups[@]}"; do kill "-$1" -- "-$group" 2>/dev/null; done
}
# A zombie that nobody reaps still answers kill -0: both waits have an end.
wait_gone() {
  local tick
  for ((tick = 0; tick < $1; tick++)); do
    alive || return 0
    sleep 0.1
  done
}

send TERM
wait_gone 15
send KILL
wait_gone 10
for folder in "${!folders[@]}"; do rm -rf -- "$folder"; done
