# The first process of a machine. bash reaps the processes that it adopts.
#
# Arguments: the folder of the lab, that of the machine, the host name.

set -eu
lab=$1
folder=$2
hostname "$3"
mount --bind "$folder/home" "$lab/home"
# The original is below another path; links lead to all of it but the machine's id.
mount --bind /etc "$lab/etc"
shopt -s nullglob
ln -sfn --target-directory="$folder/etc" "$lab"/etc/* "$lab"/etc/.[!.]*
rm -f "$folder/etc/machine-id"
cp "$folder/machine-id" "$folder/etc/machine-id"
mount --bind "$folder/etc" /etc
mount --bind "$folder/boot_id" /proc/sys/kernel/random/boot_id
# The homes of the others.
mount -t tmpfs none "$lab/machines"
# Control-C in a terminal is for the tests.
trap '' INT HUP
echo up
while read -r _; do :; done
