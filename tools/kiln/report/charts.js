"use strict";
/* Makes the Vega specifications of the charts: it adds signals and tables to the specifications in charts/. page.js
 * draws the charts in the page, and export.js writes them to files (`kiln report --charts`). This file touches no
 * document. */
function kilnCharts(data, specs, vega) {
    const shapes = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right"];
    /* Okabe and Ito's colours, which colour-blind people can distinguish. A dark page has lighter colours. */
    const palette = {
        light: ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#7a5cc4"],
        dark: ["#56b4e9", "#e69f00", "#2fc79a", "#e78ac3", "#ff7f50", "#f0e442", "#b7a4f5"],
    };
    const font = "system-ui, 'DejaVu Sans', sans-serif";
    const shape = (i) => (i < shapes.length ? shapes[i] : "circle");
    const colour = (theme, i) => (i < shapes.length ? palette[theme.dark ? "dark" : "light"][i] : theme.soft);
    const digits = (x, n) => (x === null || x === undefined ? "?" : +x.toPrecision(n || 4) + "");
    const many = (n) => n.toLocaleString("en");
    const clockUnit = (most) => (most < 180 ? ["s", 1] : most < 10800 ? ["min", 60] : ["h", 3600]);
    const clockTitle = data.replayed ? "search time" : "sweep time";
    const timeTitle = (problem) => problem.time.replace(" time", "") + " (" + problem.unit + ")";
    /* These functions loop, because Math.min() with 100,000 arguments overflows the stack. */
    const least = (numbers) => numbers.reduce((a, b) => Math.min(a, b), Infinity);
    const greatest = (numbers) => numbers.reduce((a, b) => Math.max(a, b), -Infinity);

    /* Returns the entries of a legend: [text, shape, colour]. */
    function variantLegend(names, theme) {
        const list = names.slice(0, shapes.length).map((name, i) => [name, shape(i), colour(theme, i)]);
        const others = names.length - shapes.length;
        if (others > 0) list.push([others + " slower variant" + (others > 1 ? "s" : ""), "circle", colour(theme, shapes.length)]);
        return list;
    }
    /* A short range gets a linear scale, because a log scale of less than half a decade has hardly any labels. */
    const scaleType = (low, high) => (low > 0 && high / low > 3 ? "log" : "linear");
    /* Makes a part of a file's name, which has only letters, digits, '-' and '_'. */
    const fileName = (text) => text.normalize("NFKD").replace(/[^A-Za-z0-9_]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 40) || "x";
    const namesOf = (problem) => problem.variants.map((v) => v.name);

    /* ---- the charts: each function returns {spec, title, legend, height, signals, tables, types} ---- */

    function best(problem, theme, by) {
        const names = namesOf(problem), several = names.length > 1;
        const all = [...problem.points, ...problem.steps, ...problem.failures];
        const [unit, length] = clockUnit(Math.max(0, greatest(all.map((row) => row[0]))));
        const x = (row) => (by ? row[1] : row[0] / length);
        const rows = (list) => list.map((row) => ({
            x: x(row), t: row[3], shape: several ? shape(row[2]) : "circle",
            colour: several ? colour(theme, row[2]) : theme.soft, edge: theme.back,
            tip: digits(row[3]) + " " + problem.unit + "  #" + many(row[1]) + "\n" + (names[row[2]] + " " + row[4]).trim(),
        }));
        const times = [...problem.points, ...problem.steps].map((row) => row[3]);
        const steps = rows(problem.steps), last = steps[steps.length - 1];
        const xmax = Math.max(by ? problem.count : 1e-9, greatest(all.map(x)));
        const line = steps.map((row) => ({ x: row.x, t: row.t, colour: theme.best }));
        if (last) line.push({ x: xmax, t: last.t, colour: theme.best });
        if (!several) steps.forEach((row) => { row.colour = theme.best; });
        return {
            spec: "best", title: "Best so far", types: { y: scaleType(least(times), greatest(times)) },
            legend: [...(several ? variantLegend(names, theme) : []), ...(problem.failures.length ? [["failed", "cross", theme.bad]] : [])],
            signals: { xtitle: by ? "sample" : clockTitle + " (" + unit + ")", ytitle: problem.time + " (" + problem.unit + ")", xmax: xmax * 1.01 },
            tables: { points: rows(problem.points), steps, line,
                failures: problem.failures.map((row) => ({ x: x(row), colour: theme.bad, tip: "#" + many(row[1]) + " " + names[row[2]] + "\n" + row[3] })) },
        };
    }

    /* Returns the params of a variant. The param whose choice changes the time most comes first. */
    const byEffect = (variant) => variant.params.slice().sort((a, b) => b.effect - a.effect);
    const cost = (param) => (param.effect > 1.005 ? "the worst choice costs " + digits(param.effect, 3) + " ×" : "no choice costs anything");
    function effect(problem, variant, param, theme) {
        const limits = variant.params.flatMap((p) => p.spreads.filter((s) => s[0]).flatMap((s) => [s[2], s[6]]));
        return {
            spec: "effect", title: "Effect of " + param.name, types: { y: scaleType(least(limits), greatest(limits)) }, subtitle: cost(param),
            signals: { ytitle: timeTitle(problem), low: least(limits) * 0.97, high: greatest(limits) * 1.03, colour: theme.soft, best: theme.best },
            tables: { values: param.labels.map((label, i) => {
                const s = param.spreads[i];
                return { label, ran: s[0], least: s[2], low: s[3], median: s[4], high: s[5], most: s[6],
                    tip: param.name + " = " + label + "\nbest " + digits(s[2]) + ", median " + digits(s[4]) + ", worst " + digits(s[6]) + " " + problem.unit +
                        "\n" + many(s[0]) + " ran" + (s[1] ? ", " + many(s[1]) + " failed" : "") };
            }) },
        };
    }

    /* Returns the range of the colours of a variant's pairs. `most` is the log2 at which the colours end. `clamped`
     * tells whether some values are beyond `most`. */
    function pairRange(variant) {
        const logs = variant.pairs.flatMap((pair) => pair.cells.filter((cell) => cell[2] !== null).map((cell) => Math.log2(cell[2] / variant.best)));
        const top = Math.max(Math.log2(1.05), greatest(logs)), most = Math.min(3, top);
        return { most, clamped: top > most };
    }
    function byImportance(variant) {
        const importance = (pair) => variant.params[pair.a].effect * variant.params[pair.b].effect;
        return variant.pairs.slice().sort((a, b) => importance(b) - importance(a));
    }
    function heat(problem, variant, pair, theme) {
        const a = variant.params[pair.a], b = variant.params[pair.b], { most } = pairRange(variant);
        return {
            spec: "heat", title: a.name + " × " + b.name, subtitle: "best time for each pair of values, as a multiple of the best", ramp: "fill",
            height: Math.min(420, 70 + 22 * Math.max(4, b.labels.length)),
            signals: { xtitle: a.name, ytitle: b.name, most, reversed: theme.dark, none: theme.soft },
            tables: { cells: pair.cells.map((cell) => ({
                x: a.labels[cell[0]], y: b.labels[cell[1]], i: cell[0], j: cell[1],
                times: cell[2] === null ? null : cell[2] / variant.best, log: cell[2] === null ? null : Math.log2(cell[2] / variant.best),
                tip: a.name + " = " + a.labels[cell[0]] + ", " + b.name + " = " + b.labels[cell[1]] + "\n" +
                    (cell[2] === null ? "all failed" : "best " + digits(cell[2]) + " " + problem.unit) + " of " + many(cell[3]),
            })) },
        };
    }

    function lineRange(variant) {
        const times = variant.lines.map((row) => row[0]);
        const low = least(times), high = Math.max(greatest(times), low * 1.0001), logs = Math.log2(high / low);
        const most = Math.min(3, Math.max(Math.log2(1.05), logs));
        return { low, high, range: Math.log(high / low), most, clamped: logs > most };
    }
    const parallelWidth = (variant) => 84 * (variant.params.length + 1);
    function parallel(problem, variant, theme) {
        const params = variant.params, { low, range, most } = lineRange(variant);
        const place = (param, level) => (param.values > 1 ? level / (param.values - 1) : 0.5);
        const title = (i) => (i < params.length ? params[i].name : timeTitle(problem));
        const axes = [...params, null].map((_, i) => ({ axis: i, title: title(i), high: params.length > 5 && i % 2 ? 14 : 30 }));
        const ticks = [];
        params.forEach((param, axis) => {
            const shared = param.labels.length < param.values, every = Math.ceil(param.labels.length / 12);
            param.labels.forEach((label, i) => {
                const level = shared ? Math.ceil(i * param.values / param.labels.length) : i; /* the first that shares the label */
                if (i % every === 0) ticks.push({ axis, label: shared ? label.split(" to ")[0] : label, align: "right", dx: -5, y: place(param, level) });
            });
        });
        for (let i = 0; i <= 4; i++) ticks.push({ axis: params.length, label: digits(low * Math.exp(range * i / 4), 3), align: "left", dx: 5, y: i / 4 });
        const rows = [];
        variant.lines.forEach((line, id) => {
            const log = Math.log2(line[0] / low);
            const text = params.map((p, i) => p.name + "=" + p.labels[p.labels.length < p.values ? Math.floor(line[i + 1] * p.labels.length / p.values) : line[i + 1]]).join(" ");
            const shared = { id, log, near: log < 0.14, first: id === variant.lines.length - 1, tip: digits(line[0]) + " " + problem.unit + "\n" + text };
            params.forEach((param, axis) => rows.push({ ...shared, axis, y: place(param, line[axis + 1]) }));
            rows.push({ ...shared, axis: params.length, y: Math.log(line[0] / low) / range });
        });
        return {
            spec: "parallel", title: "Every configuration", subtitle: "time as a multiple of the best", ramp: "colour", least: parallelWidth(variant),
            signals: { reversed: theme.dark, most, bright: theme.bad, back: theme.back, axis: theme.soft, text: theme.fore }, tables: { axes, ticks, rows },
        };
    }

    /* Returns the intensity that all configurations have, or null if their intensities differ. */
    function oneIntensity(problem) {
        const points = problem.roofline.points;
        return new Set(points.map((row) => digits(row[0], 3))).size === 1 ? points[0][0] : null;
    }
    function roofline(problem, theme) {
        const { points, peak_gflops: peak, peak_gbytes: memory } = problem.roofline;
        const names = namesOf(problem), several = names.length > 1;
        const places = Math.min(names.length, shapes.length + 1), same = oneIntensity(problem) !== null;
        const beside = (variant) => (same ? (Math.min(variant, places - 1) - (places - 1) / 2) * 11 : 0);
        const bounds = new Map(), known = peak > 0 && memory > 0;
        for (const row of points) if (row[4]) bounds.set(digits(row[0], 4), { x: row[0], y: row[1] / row[4], tip: "bound at this intensity: " + digits(row[1] / row[4]) + " GFLOP/s" });
        const xs = points.map((row) => row[0]), ys = points.map((row) => row[1]), tops = [...bounds.values()].map((b) => b.y);
        const ridge = known ? peak / memory : xs[0];
        const xlow = Math.min(least(xs), ridge) / 5, xhigh = Math.max(greatest(xs), ridge) * 5;
        const ylow = least(ys) / 2, yhigh = Math.max(greatest(ys), greatest(tops), known ? peak : 0) * 2.2;
        const rows = (best) => points.filter((row) => row[5] === best).map((row) => ({
            x: row[0], y: row[1], beside: beside(row[2]), colour: several ? colour(theme, row[2]) : theme.best, shape: several ? shape(row[2]) : "circle", edge: theme.back,
            tip: digits(row[1]) + " GFLOP/s" + (row[4] ? ", " + digits(100 * row[4], 3) + " % of the bound" : "") + "\n" + (names[row[2]] + " " + row[3]).trim(),
        }));
        const start = Math.max(xlow, ylow / (memory || 1));
        return {
            spec: "roofline", title: "Roofline", legend: several ? variantLegend(names, theme) : [],
            signals: { xlow, xhigh, ylow, yhigh, fore: theme.fore, soft: theme.soft },
            tables: {
                points: rows(false), best: rows(true).reverse(), bounds: known ? [] : [...bounds.values()],
                roof: known ? [{ x: xlow, y: xlow * memory }, { x: ridge, y: peak }, { x: xhigh, y: peak }] : [],
                labels: known ? [{ x: xhigh, y: peak, text: "fp32 peak " + many(Math.round(peak)) + " GFLOP/s", align: "right" },
                    { x: start * 1.5, y: start * 1.5 * memory / 2.2, text: "memory " + many(Math.round(memory)) + " GB/s", align: "left" }] : [],
            },
        };
    }

    /* Draws quantity number `y` over the first quantity, and marks the configurations that no other configuration beats
     * in both quantities. */
    function trade(problem, y, theme) {
        const { first, list, rows } = problem.quantities, names = namesOf(problem), several = names.length > 1;
        const title = (q) => q.name + (q.unit ? " (" + q.unit + ")" : "");
        const one = (row) => ({ x: row[2 + first], y: row[2 + y], shape: several ? shape(row[0]) : "circle", colour: several ? colour(theme, row[0]) : theme.soft, edge: theme.back,
            tip: list[first].name + " " + digits(row[2 + first]) + ", " + list[y].name + " " + digits(row[2 + y]) + "\n" + (names[row[0]] + " " + row[1]).trim() });
        const points = rows.map(one).filter((row) => row.x !== null && row.y !== null);
        const axis = (values) => {
            const low = least(values), high = greatest(values), type = scaleType(low, high);
            return type === "log" ? ["log", low / 1.1, high * 1.1] : ["linear", low - 0.05 * (high - low), high + 0.05 * (high - low)];
        };
        const [xtype, xlow, xhigh] = axis(points.map((row) => row.x)), [ytype, ylow, yhigh] = axis(points.map((row) => row.y));
        return {
            spec: "scatter", title: list[y].name + " over " + list[first].name, types: { x: xtype, y: ytype }, legend: several ? variantLegend(names, theme) : [],
            signals: { xtitle: title(list[first]), ytitle: title(list[y]), xlow, xhigh, ylow, yhigh, soft: theme.soft, best: theme.best },
            tables: { points, front: list[y].front.map((i) => one(rows[i])), line: [] },
        };
    }
    const tradesOf = (problem) => problem.quantities.second >= problem.quantities.list.length ? [] : problem.quantities.list.map((q, i) => i).filter((i) => i !== problem.quantities.first && problem.quantities.list[i].varies);

    /* Returns limits beyond the points, for a logarithmic scale. */
    const beyond = (numbers, factor) => [least(numbers) / factor, greatest(numbers) * factor];
    /* Draws the times of two problems. On the line a configuration is slower than the best one by the same factor in
     * both problems. */
    function compare(pair, theme) {
        const names = namesOf(data.problems[pair.a]), several = names.length > 1;
        const [xlow, xhigh] = beyond(pair.points.map((row) => row[0]), 1.1), [ylow, yhigh] = beyond(pair.points.map((row) => row[1]), 1.1);
        const xleast = least(pair.points.map((row) => row[0])), yleast = least(pair.points.map((row) => row[1]));
        const far = Math.max(xhigh / xleast, yhigh / yleast), type = scaleType(1, far);
        return {
            spec: "scatter", title: "Times of both", types: { x: type, y: type }, subtitle: many(pair.count) + " configurations in common" +
                (pair.correlation === null ? "" : ", rank correlation " + digits(pair.correlation, 3)),
            legend: several ? variantLegend(names, theme) : [],
            signals: { xtitle: pair.name_a + " (" + pair.unit_a + ")", ytitle: pair.name_b + " (" + pair.unit_b + ")", xlow, xhigh, ylow, yhigh, soft: theme.soft, best: theme.best },
            tables: {
                points: pair.points.map((row) => ({ x: row[0], y: row[1], shape: several ? shape(row[2]) : "circle", colour: several ? colour(theme, row[2]) : theme.best,
                    tip: digits(row[0]) + " " + pair.unit_a + ", " + digits(row[1]) + " " + pair.unit_b + "\n" + (names[row[2]] + " " + row[3]).trim() })),
                front: [], line: [{ x: xleast, y: yleast }, { x: xleast * far, y: yleast * far }],
            },
        };
    }

    const dashes = [[1, 0], [7, 3], [2, 2]];
    const scoreStyle = (theme, i) => ({
        colour: palette[theme.dark ? "dark" : "light"][i % shapes.length], dash: dashes[Math.floor(i / shapes.length) % dashes.length],
    });
    /* Draws the scores of `kiln compare-strategies`. `file` is the number of a file from 1, and 0 means the mean of all
     * files. */
    function scores(theme, file) {
        const curve = (s) => s.curves[0].map((_, k) => (file ? s.curves[file - 1][k] : s.curves.reduce((sum, c) => sum + c[k], 0) / s.curves.length));
        const curves = data.strategies.flatMap((s, id) => curve(s).map((y, k, all) => ({ id, x: 100 * (k + 1) / all.length, y, ...scoreStyle(theme, id), tip: s.name })));
        return {
            spec: "scores", title: "Score over the budget", legend: data.strategies.map((s, i) => [s.name, "stroke", scoreStyle(theme, i).colour]),
            signals: { low: Math.max(-1, Math.min(0, least(curves.map((row) => row.y)))), soft: theme.soft }, tables: { curves },
        };
    }

    /* ---- the view of a chart ---- */

    function config(theme) {
        return {
            background: "transparent", font,
            title: { color: theme.fore, subtitleColor: theme.soft, font, subtitleFont: font, anchor: "start", fontSize: 14, subtitleFontSize: 11, fontWeight: 600, offset: 10 },
            legend: { labelColor: theme.fore, titleColor: theme.fore, labelFont: font, titleFont: font, labelFontSize: 11, titleFontWeight: "normal", labelLimit: 260 },
            axis: { labelColor: theme.soft, titleColor: theme.fore, domainColor: theme.line, tickColor: theme.line, gridColor: theme.line, gridOpacity: 0.7,
                labelFont: font, titleFont: font, titleFontWeight: "normal", labelFontSize: 11, titleFontSize: 12, titlePadding: 8 },
        };
    }
    /* Adds the title and the legend to a chart for a file. Their texts are data and signals, like all other texts. */
    function addFrame(spec, chart) {
        const rows = Math.ceil((chart.legend || []).length / 4);
        spec.signals.push({ name: "kilnTitle", value: chart.title }, { name: "kilnSubtitle", value: chart.subtitle || "" });
        spec.title = { text: { signal: "kilnTitle" }, subtitle: { signal: "kilnSubtitle" } };
        spec.height += 46 + 18 * rows + (chart.ramp ? 44 : 0);
        spec.padding = 12;
        spec.data.push({ name: "kilnLegend", values: (chart.legend || []).map(([name, mark, fill], i) => ({ i, name, mark, fill })) });
        spec.legends = [];
        if (rows) {
            const scale = (name, field) => ({ name, type: "ordinal", domain: { data: "kilnLegend", field: "name" }, range: { data: "kilnLegend", field } });
            spec.scales.push(scale("kilnFill", "fill"), scale("kilnMark", "mark"));
            spec.legends.push({ fill: "kilnFill", shape: "kilnMark", stroke: "kilnFill", orient: "bottom", direction: "horizontal", columns: 4, symbolType: "circle" });
        }
        if (chart.ramp)
            spec.legends.push({ fill: chart.ramp, type: "gradient", orient: "bottom", direction: "horizontal", gradientLength: 200, tickCount: 4,
                encode: { labels: { update: { text: { signal: "format(pow(2, datum.value), '.3~r') + ' ×'" } } } } });
    }
    /* `framed` adds the title and the legend, for a file. The page has both beside the chart. */
    function view(chart, theme, options, framed) {
        const spec = JSON.parse(JSON.stringify(specs[chart.spec]));
        spec.description = chart.title; /* screen readers read this text */
        if (chart.height) spec.height = chart.height;
        for (const scale of spec.scales) if (chart.types && chart.types[scale.name]) scale.type = chart.types[scale.name];
        if (framed) addFrame(spec, chart);
        const interpreter = vega.expressionInterpreter;
        if (interpreter) options.expr = interpreter;
        const made = new vega.View(vega.parse(spec, { ...config(theme), ...(framed ? { background: theme.back } : {}) }, { ast: !!interpreter }), options);
        for (const [name, value] of Object.entries(chart.signals)) made.signal(name, value);
        for (const [name, rows] of Object.entries(chart.tables)) made.data(name, rows);
        return made;
    }

    return { digits, many, clockTitle, variantLegend, fileName, namesOf, best, byEffect, cost, effect, pairRange, byImportance, heat,
        lineRange, parallelWidth, parallel, oneIntensity, roofline, compare, trade, tradesOf, scoreStyle, scores, view };
}

/* ---- makes the object `vega` from Vega's modules, or from the single module of a whole Vega ---- */

function kilnVega(modules) {
    const loaded = {};
    function load(name) {
        if (name === "vega-selections") name = "vega-selection"; /* the module's other name */
        if (!loaded[name]) {
            const module = { exports: {} };
            loaded[name] = module;
            modules[name].call(undefined, module.exports, module, load);
        }
        return loaded[name].exports;
    }
    const vega = {};
    if (modules["vega"]) {
        Object.assign(vega, load("vega"));
        delete vega.expressionInterpreter; /* the program uses the interpreter in a separate module */
    } else {
        for (const name of ["vega-util", "vega-dataflow", "vega-scale", "vega-parser", "vega-view"])
            Object.assign(vega, load(name));
        Object.assign(load("vega-dataflow").transforms, load("vega-transforms"), load("vega-view-transforms"), load("vega-encode"));
    }
    if (modules["vega-interpreter"]) vega.expressionInterpreter = load("vega-interpreter").expressionInterpreter;
    return vega;
}
