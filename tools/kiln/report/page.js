"use strict";
(function () {
    const read = (id) => JSON.parse(document.getElementById(id).textContent);
    const data = read("kiln-data"), specs = read("kiln-specs"), tip = document.getElementById("tip");
    if (!data) return;

    /* ---- Vega out of its modules; whole it is one module ---- */

    const loaded = {};
    function load(name) {
        if (name === "vega-selections") name = "vega-selection"; /* the module's other name */
        if (!loaded[name]) {
            const module = { exports: {} };
            loaded[name] = module;
            kilnModules[name].call(undefined, module.exports, module, load);
        }
        return loaded[name].exports;
    }
    function vegaModules() {
        if (kilnModules["vega"]) return load("vega");
        const vega = {};
        for (const name of ["vega-util", "vega-dataflow", "vega-scale", "vega-parser", "vega-view"])
            Object.assign(vega, load(name));
        Object.assign(load("vega-dataflow").transforms, load("vega-transforms"), load("vega-view-transforms"), load("vega-encode"));
        return vega;
    }
    const vega = vegaModules();
    const interpreter = kilnModules["vega-interpreter"] ? load("vega-interpreter").expressionInterpreter : null;

    /* ---- the page's own elements: text goes in as text ---- */

    function make(tag, inside, properties, ...children) {
        const made = Object.assign(document.createElement(tag), properties);
        made.append(...children);
        if (inside) inside.append(made);
        return made;
    }
    function choose(inside, label, texts, chosen, change) {
        const select = make("select", null, {}, ...texts.map((text, i) => make("option", null, { value: i, textContent: text })));
        select.value = chosen;
        select.onchange = () => change(+select.value);
        make("label", inside, {}, label + " ", select);
        return select;
    }

    /* ---- colours: Okabe and Ito's, which the colour-blind tell apart; on a dark page lighter ones ---- */

    const dark = matchMedia("(prefers-color-scheme: dark)");
    const palette = {
        light: ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#7a5cc4"],
        dark: ["#56b4e9", "#e69f00", "#2fc79a", "#e78ac3", "#ff7f50", "#f0e442", "#b7a4f5"],
    };
    const shapes = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right"];
    const outlines = {
        "circle": "M6 1a5 5 0 1 0 0.01 0z", "square": "M1.5 1.5h9v9h-9z", "triangle-up": "M6 1l5 9.5H1z", "diamond": "M6 0l4.5 6L6 12 1.5 6z",
        "triangle-down": "M6 11l5-9.5H1z", "cross": "M4 1h4v3h3v4H8v3H4V8H1V4h3z", "triangle-right": "M11 6L1.5 11V1z",
    };
    const css = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
    const colour = (i) => (i < shapes.length ? palette[dark.matches ? "dark" : "light"][i] : css("soft"));
    const shape = (i) => (i < shapes.length ? shapes[i] : "circle");

    function config() {
        const fore = css("fore"), soft = css("soft"), line = css("line"), font = "system-ui, 'DejaVu Sans', sans-serif";
        return {
            background: "transparent", font,
            axis: { labelColor: soft, titleColor: fore, domainColor: line, tickColor: line, gridColor: line, gridOpacity: 0.7,
                labelFont: font, titleFont: font, titleFontWeight: "normal", labelFontSize: 11, titleFontSize: 12, titlePadding: 8 },
        };
    }

    /* ---- drawing ---- */

    function showTip(handler, event, item, text) {
        tip.hidden = text === null || text === undefined || text === "";
        if (tip.hidden) return;
        tip.textContent = text;
        const box = tip.getBoundingClientRect(), x = event.clientX + 14, y = event.clientY + 14;
        tip.style.left = Math.max(4, Math.min(x, innerWidth - box.width - 8)) + "px";
        tip.style.top = (y + box.height > innerHeight ? Math.max(4, event.clientY - box.height - 10) : y) + "px";
    }

    const drawn = new Set(); /* {host, fill, view}: what a change of theme or width is for */
    const waiting = new Map();
    const seen = window.IntersectionObserver &&
        new IntersectionObserver((entries) => entries.forEach((entry) => entry.isIntersecting && now(entry.target)), { rootMargin: "600px" });
    function now(host) {
        const chart = waiting.get(host);
        if (!chart) return;
        waiting.delete(host);
        if (seen) seen.unobserve(host);
        draw(chart);
    }
    function draw(chart) {
        if (chart.view) chart.view.finalize();
        chart.host.replaceChildren();
        const { signals, tables, height } = chart.fill();
        const spec = JSON.parse(JSON.stringify(specs[chart.name]));
        spec.description = chart.label; /* what screen readers say */
        if (height) spec.height = height;
        const options = { renderer: "svg", container: chart.host, hover: true, tooltip: showTip };
        if (interpreter) options.expr = interpreter;
        const view = new vega.View(vega.parse(spec, config(), { ast: !!interpreter }), options);
        view.width(chart.host.clientWidth);
        for (const [name, value] of Object.entries(signals)) view.signal(name, value);
        for (const [name, rows] of Object.entries(tables)) view.data(name, rows);
        chart.view = view.run();
        chart.width = chart.host.clientWidth;
        drawn.add(chart);
    }
    /* A chart in `inside`, drawn when it comes into sight. `fill` gives its signals and tables. */
    function addChart(inside, name, label, fill) {
        const host = make("div", inside, { className: "chart" });
        waiting.set(host, { name, host, fill, label });
        if (seen) seen.observe(host); else now(host);
        return host;
    }
    function clear(inside) {
        for (const chart of [...drawn])
            if (inside.contains(chart.host)) { chart.view.finalize(); drawn.delete(chart); }
        for (const host of [...waiting.keys()])
            if (inside.contains(host)) waiting.delete(host);
        inside.replaceChildren();
    }
    let resizing = 0;
    addEventListener("resize", () => {
        clearTimeout(resizing);
        resizing = setTimeout(() => drawn.forEach((chart) => {
            if (chart.host.clientWidth !== chart.width) draw(chart);
        }), 120);
    });
    const themed = []; /* legends and ramps */
    dark.addEventListener("change", () => { themed.forEach((again) => again()); drawn.forEach(draw); });
    addEventListener("beforeprint", () => [...waiting.keys()].forEach(now));

    /* ---- texts ---- */

    const digits = (x, n) => (x === null || x === undefined ? "?" : +x.toPrecision(n || 4) + "");
    const many = (n) => n.toLocaleString("en");
    const clockUnit = (most) => (most < 180 ? ["s", 1] : most < 10800 ? ["min", 60] : ["h", 3600]);
    const ramp = () => (vega.scheme("viridis"));
    function legend(inside, names, more) {
        const list = make("ul", inside, { className: "legend" });
        const fill = () => {
            list.replaceChildren();
            names.slice(0, shapes.length).forEach((name, i) => entry(name, outlines[shape(i)], colour(i)));
            if (names.length > shapes.length) entry((names.length - shapes.length) + " slower variants", outlines.circle, colour(shapes.length));
            for (const [name, path, kind] of more || []) entry(name, path, css(kind));
        };
        const entry = (name, path, fillColour) => {
            const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), mark = document.createElementNS(svg.namespaceURI, "path");
            svg.setAttribute("viewBox", "0 0 12 12");
            svg.setAttribute("aria-hidden", "true");
            mark.setAttribute("d", path);
            mark.setAttribute("fill", fillColour);
            svg.append(mark);
            make("li", list, {}, svg, name);
        };
        themed.push(fill);
        fill();
    }
    /* What the colours from the best time to 2^most times it look like. */
    function addRamp(inside, most, clamped) {
        const line = make("span", inside, { className: "ramp" }, "best"), bar = make("i", line);
        const end = digits(2 ** most, 2);
        line.append((clamped ? "at least " : "") + end + " × the best");
        const fill = () => {
            const stops = [0, 0.2, 0.4, 0.6, 0.8, 1].map((at) => vegaColour(dark.matches ? 1 - at : at));
            bar.style.background = "linear-gradient(90deg, " + stops.join(", ") + ")";
        };
        themed.push(fill);
        fill();
    }
    const vegaColour = (at) => ramp()(at);

    /* ---- the charts of a problem ---- */

    function bestSoFar(section, problem) {
        const controls = make("div", section, { className: "controls" });
        const state = { by: 0 };
        const names = problem.variants.map((v) => v.name);
        if (names.length > 1 || problem.failures.length)
            legend(section, names.length > 1 ? names : [], problem.failures.length ? [["failed", "M2 0L6 4 10 0l2 2-4 4 4 4-2 2-4-4-4 4-2-2 4-4-4-4z", "bad"]] : []);
        const body = make("div", section);
        const clockTitle = data.replayed ? "search time" : "sweep time";
        const show = () => {
            clear(body);
            addChart(body, "best", "Best so far", () => {
                const all = [...problem.points, ...problem.steps, ...problem.failures];
                const [unit, length] = clockUnit(Math.max(0, ...all.map((row) => row[0])));
                const x = (row) => (state.by ? row[1] : row[0] / length);
                const rows = (list) => list.map((row) => ({
                    x: x(row), t: row[3], shape: names.length > 1 ? shape(row[2]) : "circle",
                    colour: names.length > 1 ? colour(row[2]) : css("soft"), edge: css("back"),
                    tip: digits(row[3]) + " " + problem.unit + "  #" + many(row[1]) + "\n" + (names[row[2]] + " " + row[4]).trim(),
                }));
                const steps = rows(problem.steps), last = steps[steps.length - 1];
                const xmax = Math.max(state.by ? problem.count : 1e-9, ...all.map(x));
                const line = steps.map((row) => ({ x: row.x, t: row.t, colour: css("best") }));
                if (last) line.push({ x: xmax, t: last.t, colour: css("best") });
                if (names.length <= 1) steps.forEach((row) => { row.colour = css("best"); });
                return {
                    signals: { xtitle: state.by ? "sample" : clockTitle + " (" + unit + ")", ytitle: problem.time + " (" + problem.unit + ")", xmax: xmax * 1.01 },
                    tables: { points: rows(problem.points), steps, line,
                        failures: problem.failures.map((row) => ({ x: x(row), colour: css("bad"), tip: "#" + many(row[1]) + " " + names[row[2]] + "\n" + row[3] })) },
                };
            });
        };
        choose(controls, "over", [clockTitle, "number of the sample"], 0, (by) => { state.by = by; show(); });
        show();
        if (problem.points.length < problem.ran)
            make("p", section, { className: "note" }, many(problem.points.length) + " of " + many(problem.ran) +
                " samples are drawn as points, evenly over time; the line is of all of them. The other charts count all.");
    }

    function effects(body, problem, variant) {
        const params = variant.params.slice().sort((a, b) => b.effect - a.effect);
        const limits = params.flatMap((p) => p.spreads.filter((s) => s[0]).flatMap((s) => [s[2], s[6]]));
        const low = Math.min(...limits), high = Math.max(...limits);
        make("p", body, { className: "note" }, "For each value: the best time as a dot, the middle half of the times as a box with the median, " +
            "all of them as a line. The param whose choice matters most comes first.");
        const grid = make("div", body, { className: "grid" });
        for (const param of params) {
            const holder = make("div", grid);
            make("h4", holder, {}, param.name + " ", make("small", null, {}, param.effect > 1.005 ? "the worst choice costs " + digits(param.effect, 3) + " ×" : "no choice costs anything"));
            addChart(holder, "effect", "Effect of " + param.name, () => ({
                signals: { ytitle: problem.time.replace(" time", "") + " (" + problem.unit + ")", low: low * 0.97, high: high * 1.03, colour: css("soft"), best: css("best") },
                tables: { values: param.labels.map((label, i) => {
                    const s = param.spreads[i];
                    return { label, ran: s[0], least: s[2], low: s[3], median: s[4], high: s[5], most: s[6],
                        tip: param.name + " = " + label + "\nbest " + digits(s[2]) + ", median " + digits(s[4]) + ", worst " + digits(s[6]) + " " + problem.unit +
                            "\n" + many(s[0]) + " ran" + (s[1] ? ", " + many(s[1]) + " failed" : "") };
                }) },
            }));
        }
        const costs = variant.params.filter((p) => p.labels.length < p.values);
        if (costs.length)
            make("p", body, { className: "note" }, "Neighbouring values share a place where there are many: " + costs.map((p) => p.name + " has " + many(p.values)).join(", ") + ".");
    }

    function pairs(body, problem, variant) {
        const logs = (pair) => pair.cells.filter((cell) => cell[2] !== null).map((cell) => Math.log2(cell[2] / variant.best));
        const top = Math.max(Math.log2(1.05), ...variant.pairs.flatMap(logs)), most = Math.min(3, top);
        const importance = (pair) => variant.params[pair.a].effect * variant.params[pair.b].effect;
        const order = variant.pairs.slice().sort((a, b) => importance(b) - importance(a));
        make("p", body, { className: "note" }, "The best time for each pair of values, as a multiple of the variant's best. Empty: not sampled; ×: all failed.");
        addRamp(make("p", body), most, top > most);
        const grid = make("div", body, { className: "grid" });
        const add = (pair) => {
            const a = variant.params[pair.a], b = variant.params[pair.b], holder = make("div", grid);
            make("h4", holder, {}, a.name + " × " + b.name);
            addChart(holder, "heat", a.name + " by " + b.name, () => ({
                height: Math.min(420, 70 + 22 * Math.max(4, b.labels.length)),
                signals: { xtitle: a.name, ytitle: b.name, most, reversed: dark.matches, none: css("soft") },
                tables: { cells: pair.cells.map((cell) => ({
                    x: a.labels[cell[0]], y: b.labels[cell[1]], i: cell[0], j: cell[1],
                    times: cell[2] === null ? null : cell[2] / variant.best, log: cell[2] === null ? null : Math.log2(cell[2] / variant.best),
                    tip: a.name + " = " + a.labels[cell[0]] + ", " + b.name + " = " + b.labels[cell[1]] + "\n" +
                        (cell[2] === null ? "all failed" : "best " + digits(cell[2]) + " " + problem.unit) + " of " + many(cell[3]),
                })) },
            }));
        };
        order.slice(0, 9).forEach(add);
        if (order.length > 9) {
            const button = make("button", body, { type: "button" }, "Show the other " + (order.length - 9) + " pairs");
            button.onclick = () => { button.remove(); order.slice(9).forEach(add); };
        }
    }

    function parallel(body, problem, variant) {
        const params = variant.params, times = variant.lines.map((row) => row[0]);
        const low = Math.min(...times), high = Math.max(...times, low * 1.0001), range = Math.log(high / low);
        const most = Math.min(3, Math.max(Math.log2(1.05), Math.log2(high / low)));
        const place = (param, level) => (param.values > 1 ? level / (param.values - 1) : 0.5);
        const timeTitle = problem.time.replace(" time", "") + " (" + problem.unit + ")";
        make("p", body, { className: "note" }, "Each line is a configuration, from its values to its time" +
            (variant.lines.length < variant.ran ? "; " + many(variant.lines.length) + " of " + many(variant.ran) + " are drawn, the fastest among them." : "."));
        addRamp(make("p", body), most, Math.log2(high / low) > most);
        const wide = make("div", body, { className: "wide" });
        const host = addChart(wide, "parallel", "Parallel coordinates", () => {
            const title = (i) => (i < params.length ? params[i].name : timeTitle);
            const axes = [...params, null].map((_, i) => ({ axis: i, title: title(i), high: params.length > 5 && i % 2 ? 14 : 30 }));
            const ticks = [];
            params.forEach((param, axis) => {
                const shared = param.labels.length < param.values, every = Math.ceil(param.labels.length / 12);
                param.labels.forEach((label, i) => {
                    const level = shared ? Math.ceil(i * param.values / param.labels.length) : i; /* the first of those that share */
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
            return { signals: { reversed: dark.matches, most, bright: css("bad"), back: css("back"), axis: css("soft"), text: css("fore") }, tables: { axes, ticks, rows } };
        });
        host.style.setProperty("--least", 84 * (params.length + 1) + "px");
    }

    /* The three charts of one variant, which is chosen in any of them. */
    function ofVariant(article, problem) {
        const state = { variant: Math.max(0, problem.variants.findIndex((v) => v.ran && v.params.length)) };
        const parts = [["effects", effects, 1], ["pairs", pairs, 2], ["parallel", parallel, 1]].map(([name, fill, least]) => ({
            section: article.querySelector("[data-chart=" + name + "]"), fill, least,
        })).filter((part) => part.section);
        const show = () => {
            const variant = problem.variants[state.variant];
            for (const part of parts) {
                clear(part.body);
                if (part.select) part.select.value = state.variant;
                if (variant.ran && variant.params.length >= part.least) part.fill(part.body, problem, variant);
                else make("p", part.body, { className: "note" }, !variant.ran ? "None of its configurations ran." :
                    part.least === 2 ? "Fewer than two of its params have more than one value." : "None of its params has more than one value.");
            }
        };
        for (const part of parts) {
            if (problem.variants.length > 1) {
                const controls = make("div", part.section, { className: "controls" });
                part.select = choose(controls, "variant", problem.variants.map((v) => v.name), state.variant, (v) => { state.variant = v; show(); });
            }
            part.body = make("div", part.section);
        }
        show();
    }

    function roofline(section, problem) {
        const { points, peak_gflops: peak, peak_gbytes: memory } = problem.roofline;
        const names = problem.variants.map((v) => v.name);
        if (!points.length) {
            make("p", section, { className: "note" }, "Needs the spec's metrics flops and bytes, and measured or estimated times.");
            return;
        }
        if (names.length > 1) legend(section, names);
        const places = Math.min(names.length, shapes.length + 1), same = new Set(points.map((row) => digits(row[0], 3))).size === 1;
        const beside = (variant) => (same ? (Math.min(variant, places - 1) - (places - 1) / 2) * 11 : 0);
        if (same && names.length > 1)
            make("p", section, { className: "note" }, "Every configuration has the intensity " + digits(points[0][0], 3) + " FLOP/byte; the variants stand side by side there.");
        addChart(section, "roofline", "Roofline", () => {
            const bounds = new Map(), known = peak > 0 && memory > 0;
            for (const row of points) if (row[4]) bounds.set(digits(row[0], 4), { x: row[0], y: row[1] / row[4], tip: "bound at this intensity: " + digits(row[1] / row[4]) + " GFLOP/s" });
            const xs = points.map((row) => row[0]), ys = points.map((row) => row[1]), tops = [...bounds.values()].map((b) => b.y);
            const ridge = known ? peak / memory : xs[0];
            const xlow = Math.min(...xs, ridge) / 5, xhigh = Math.max(...xs, ridge) * 5;
            const ylow = Math.min(...ys) / 2, yhigh = Math.max(...ys, ...tops, known ? peak : 0) * 2.2;
            const rows = (best) => points.filter((row) => row[5] === best).map((row) => ({
                x: row[0], y: row[1], beside: beside(row[2]), colour: names.length > 1 ? colour(row[2]) : css("best"), shape: names.length > 1 ? shape(row[2]) : "circle", edge: css("back"),
                tip: digits(row[1]) + " GFLOP/s" + (row[4] ? ", " + digits(100 * row[4], 3) + " % of the bound" : "") + "\n" + (names[row[2]] + " " + row[3]).trim(),
            }));
            const start = Math.max(xlow, ylow / (memory || 1));
            return {
                signals: { xlow, xhigh, ylow, yhigh, fore: css("fore"), soft: css("soft") },
                tables: {
                    points: rows(false), best: rows(true).reverse(), bounds: known ? [] : [...bounds.values()],
                    roof: known ? [{ x: xlow, y: xlow * memory }, { x: ridge, y: peak }, { x: xhigh, y: peak }] : [],
                    labels: known ? [{ x: xhigh, y: peak, text: "fp32 peak " + many(Math.round(peak)) + " GFLOP/s", align: "right" },
                        { x: start * 1.5, y: start * 1.5 * memory / 2.2, text: "memory " + many(Math.round(memory)) + " GB/s", align: "left" }] : [],
                },
            };
        });
    }

    /* ---- the page of kiln compare-strategies ---- */

    function scores(section) {
        const controls = make("div", section, { className: "controls" }), state = { file: 0 };
        const dashes = [[1, 0], [7, 3], [2, 2]];
        const names = data.strategies.map((s) => s.name);
        const shade = (i) => palette[dark.matches ? "dark" : "light"][i % shapes.length], dash = (i) => dashes[Math.floor(i / shapes.length) % dashes.length];
        choose(controls, "on", ["the mean of all", ...data.files], 0, (file) => { state.file = file; show(); });
        const list = make("ul", section, { className: "legend" }), body = make("div", section);
        const key = () => {
            list.replaceChildren();
            names.forEach((name, i) => {
                const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), mark = document.createElementNS(svg.namespaceURI, "line");
                svg.setAttribute("viewBox", "0 0 24 12");
                svg.style.width = "24px";
                for (const [name_, value] of Object.entries({ x1: 0, x2: 24, y1: 6, y2: 6, stroke: shade(i), "stroke-width": 3, "stroke-dasharray": dash(i).join(" ") })) mark.setAttribute(name_, value);
                svg.append(mark);
                make("li", list, {}, svg, name);
            });
        };
        themed.push(key);
        key();
        make("p", section, { className: "note" }, "Scores below -1 are drawn at -1.");
        const show = () => {
            clear(body);
            addChart(body, "scores", "Score over the budget", () => {
                const curve = (s) => s.curves[0].map((_, k) => (state.file ? s.curves[state.file - 1][k] : s.curves.reduce((sum, c) => sum + c[k], 0) / s.curves.length));
                const curves = data.strategies.flatMap((s, id) => curve(s).map((y, k, all) => ({ id, x: 100 * (k + 1) / all.length, y, colour: shade(id), dash: dash(id), tip: s.name })));
                return { signals: { low: Math.max(-1, Math.min(0, ...curves.map((row) => row.y))), soft: css("soft") }, tables: { curves } };
            });
        };
        show();
    }

    /* ---- all of it ---- */

    document.documentElement.classList.add("scripts");
    if (data.strategies) {
        scores(document.querySelector("[data-chart=scores]"));
        return;
    }
    data.problems.forEach((problem, i) => {
        const article = document.getElementById("problem-" + i), at = (name) => article.querySelector("[data-chart=" + name + "]");
        if (!problem.ran) return;
        bestSoFar(at("best"), problem);
        ofVariant(article, problem);
        if (at("roofline")) roofline(at("roofline"), problem);
    });
})();
