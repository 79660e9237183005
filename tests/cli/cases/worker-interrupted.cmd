# A signal ends a new worker before it has a process group of its own, as Ctrl-C can: another one is started without a warning.
cat >once.sh <<END
#!/bin/sh
[ -e interrupted ] || { touch interrupted; kill -\$1 \$\$; }
shift
exec $KILN_WORKER "\$@"
END
for signal in INT TERM; do
    printf '#!/bin/sh\nexec %s/once.sh %s "$@"\n' "$PWD" $signal >worker.sh
    chmod +x once.sh worker.sh
    rm -f interrupted
    KILN_CACHE_DIR=$PWD/$signal KILN_WORKER=$PWD/worker.sh kiln run axpby --no-measure -s tiny | grep -o 'answer *verified'
    ls interrupted
done
