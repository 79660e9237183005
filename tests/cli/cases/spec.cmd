kiln spec | sed -n '/^param:/,/^$/p'
kiln spec --json | sed -n '2,9p'
kiln spec --schema | sed -n '/"fill_step": {/,/additionalProperties/p'
kiln spec --page | head -n 3
