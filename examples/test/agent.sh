# An agent for tests. It says "working", and "done" once the file that its prompt names is there. "escape": what it has
# started leaves its group, and only then it says "working".
read -r file escape
if [ "$escape" = escape ]; then
  setsid sh -c "echo \$\$ > '$file.pid'; exec sleep 600" > /dev/null 2>&1 &
  while [ ! -s "$file.pid" ]; do sleep 0.05; done
fi
echo working
while [ ! -e "$file" ]; do sleep 0.05; done
echo done
