kiln tune add -v wide --csv sweep.csv >/dev/null || exit
sed -n 1p sweep.csv
sed 1d sweep.csv | cut -d, -f2,3,4,12- | sort
kiln tune add -v wide -m 1 --csv /dev/full
echo $?
