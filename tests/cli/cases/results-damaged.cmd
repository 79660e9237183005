# Two rows of the store that cannot be read: each command leaves them out and says so, and a sweep makes them again.
export KILN_STORE=kept.db
kiln tune add -m 4 >/dev/null
python3 - <<'X'
import sqlite3
store = sqlite3.connect("kept.db")
rows = [row[0] for row in store.execute("SELECT id FROM sample ORDER BY id")]
store.execute("UPDATE sample SET seconds = 'soon' WHERE id = ?", rows[1:2])
store.execute("UPDATE sample SET times = 7 WHERE id = ?", rows[2:3])
store.commit()
X
short() { sed -E "s/sample '[0-9a-f]+'/sample KEY/"; }
kiln results 2>&1 | short | sed 's/simulated).*/.../'
kiln results add --json 2>errors.txt | grep -c '"spec": "add"'
short <errors.txt | sort -u
kiln results export all.csv 2>&1 | short | sort -u
kiln report add -o report.html 2>&1 | short | grep -c 'is damaged'
kiln tune add -m 4 --json 2>errors.txt | grep '"reused": 2'
short <errors.txt | sort -u
kiln results add --json | grep -c '"spec": "add"'
