/* Prints every chart as SVG: each line is a JSON object {"file", "svg"}. `kiln report --charts` runs this script in
 * Node.js, after Vega, charts.js, and the constants kilnData and kilnSpecs. */
(async function () {
    const vega = kilnVega(kilnModules), charts = kilnCharts(kilnData, kilnSpecs, vega);
    const theme = { dark: false, fore: "#1b1f24", back: "#ffffff", soft: "#57606a", line: "#d0d7de", best: "#0072b2", bad: "#d55e00" };
    const taken = new Set();
    async function put(chart, width, ...words) {
        const name = words.map((word) => charts.fileName(word + "")).join("-");
        let file = name;
        for (let i = 2; taken.has(file.toLowerCase()); i++) file = name + "-" + i;
        taken.add(file.toLowerCase());
        const view = charts.view(chart, theme, { renderer: "none" }, true);
        view.width(Math.max(width, chart.least || 0));
        await view.runAsync();
        const line = JSON.stringify({ file, svg: await view.toSVG() }) + "\n";
        await new Promise((resolve, reject) => process.stdout.write(line, (error) => (error ? reject(error) : resolve())));
        view.finalize();
    }
    for (const pair of kilnData.pairs)
        if (pair.points.length > 1) await put(charts.compare(pair, theme), 560, "compare", pair.a + 1, pair.b + 1);
    let number = 0;
    for (const problem of kilnData.problems) {
        number++;
        if (!problem.ran) continue;
        await put(charts.best(problem, theme, 0), 760, number, "best");
        if (problem.roofline.points.length) await put(charts.roofline(problem, theme), 760, number, "roofline");
        for (const y of charts.tradesOf(problem)) await put(charts.trade(problem, y, theme), 560, number, "quantity", problem.quantities.list[y].name);
        for (const variant of problem.variants) {
            if (!variant.ran || !variant.params.length) continue;
            const words = variant.name ? [number, variant.name] : [number];
            for (const param of charts.byEffect(variant)) await put(charts.effect(problem, variant, param, theme), 420, ...words, "effect", param.name);
            for (const pair of charts.byImportance(variant))
                await put(charts.heat(problem, variant, pair, theme), 460, ...words, "pair", variant.params[pair.a].name, variant.params[pair.b].name);
            await put(charts.parallel(problem, variant, theme), 760, ...words, "parallel");
        }
    }
})().catch((error) => {
    console.error(error.stack || error);
    process.exitCode = 1;
});
