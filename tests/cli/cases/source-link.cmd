# A link called kernel_src, in a spec's folder or beside it, cannot lead out of the folder.
mkdir -p pack/specs outside
cp "$SPECS/add.cu" outside/secret.cu
cp "$SPECS/add.cu" pack/specs/add.cu
for link in pack/specs/kernel_src pack/kernel_src; do
    for to in / "$PWD/outside" "$PWD"; do
        case $to in /) name=etc/passwd ;; */outside) name=secret.cu ;; *) name=outside/secret.cu ;; esac
        sed "s|source: .*|source: $name|" "$SPECS/add.yaml" >pack/specs/add.yaml
        ln -s "$to" $link
        kiln inspect pack/specs/add.yaml --source=- >out 2>err
        echo "$? $link: $(cut -d: -f 2 err), $(wc -c <out) bytes"
        kiln run pack/specs/add.yaml >/dev/null 2>&1
        echo $?
        rm $link
    done
done
# What the links may lead to: the layouts that there are.
mkdir pack/kernel_src && mv pack/specs/add.cu pack/kernel_src/
cp "$SPECS/add.yaml" pack/specs/
mkdir share && ln -s ../pack/specs share/specs
kiln run pack/specs/add.yaml -q >/dev/null && kiln run share/specs/add.yaml -q >/dev/null &&
    KILN_PATH=share/specs kiln run add -q >/dev/null && echo found
