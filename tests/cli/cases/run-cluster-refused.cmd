# exit 11
# The driver refuses what never fits on the device: the message has the numbers.
sed 's/^sm_count:.*/sm_count: 9/; /^gpc_sms:/d' "$SPECS/../../../specs/devices/h200.profile" >small.profile
cp "$SPECS/cluster.cu" .
sed 's/cluster: \[SIZE\]/&, shared: 200000/' "$SPECS/cluster.yaml" >cluster.yaml
sed 's/cluster: \[SIZE\]/cooperative: true, shared: 200000/' "$SPECS/cluster.yaml" >cooperative.yaml
sed 's/cluster: \[SIZE\]/&, cooperative: true, shared: 200000/' "$SPECS/cluster.yaml" >both.yaml
kiln run ./both.yaml -v together -p SIZE=4 -s ROWS=33 --device sim:h200
kiln run ./cooperative.yaml -v together -p SIZE=4 --device sim:small.profile
kiln run ./cluster.yaml -v together -p SIZE=16 --device sim:small.profile
