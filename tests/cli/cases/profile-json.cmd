# needs python3
kiln profile add --lines --json >out.json || exit
python3 - <<'END'
import json
o = json.load(open("out.json"))
k = o["kernels"][0]
print(sorted(o), o["verified"])
print(k["name"], k["grid"], k["block"], k["warps"], k["registers_exact"])
c = k["counters"]
print([c["global_load_" + x] for x in ("requests", "lanes", "bytes", "used", "sectors", "lines")])
assert sum(x["executed"] for x in k["classes"].values()) == c["executed"]
assert sum(l["counters"]["executed"] for l in o["lines"]) == c["executed"]
assert sum(l["counters"]["global_load_sectors"] for l in o["lines"]) == c["global_load_sectors"]
print(k["classes"]["fp32_add"], k["flops"])
END
