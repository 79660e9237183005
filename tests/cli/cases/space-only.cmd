# exit 4
# A T1 file that has a space and no kernel can only be shown.
cat >space.json <<'END'
{"General": {"BenchmarkName": "bare", "TimeUnit": "Milliseconds"},
 "ConfigurationSpace": {"TuningParameters": [{"Name": "A", "Type": "int", "Values": "[1, 2, 3]", "Default": 1}],
                        "Conditions": []}}
END
kiln show space.json | grep -c A
for command in tune run check inspect; do
    kiln $command space.json
    echo "exit $?"
done
kiln tune space.json -m 2 --strategy random
