# A store that is damaged, of another program, or a folder.
echo 'this is no database at all, and it is long enough not to be taken for the head of one that was cut off.' > kept.db
kiln tune add -m 2 --store kept.db 2>&1 >/dev/null | sed -E 's/damaged-[0-9-]+/damaged-N/'
kiln tune add -m 2 --store kept.db --json | grep '"reused": 2'
mkdir folder
kiln tune add -m 2 --store folder
kiln tune add -m 2 --store folder --no-store | grep -c configurations
KILN_STORE=nowhere.db kiln results
echo $?
