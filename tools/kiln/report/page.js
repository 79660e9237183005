"use strict";
(function () {
    const read = (id) => JSON.parse(document.getElementById(id).textContent);
    const data = read("kiln-data"), specs = read("kiln-specs"), tip = document.getElementById("tip");
    if (!data) return;
    const vega = kilnVega(kilnModules), charts = kilnCharts(data, specs, vega), { digits, many } = charts;

    /* ---- elements of the page: a text is inserted as text, never as HTML ---- */

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

    /* ---- colours ---- */

    const dark = matchMedia("(prefers-color-scheme: dark)");
    const css = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
    let printing = false; /* a printed page always has the light colours */
    const theme = () => ({ dark: dark.matches && !printing, ...Object.fromEntries(["fore", "back", "soft", "line", "best", "bad"].map((name) => [name, css(name)])) });
    const outlines = {
        "circle": "M6 1a5 5 0 1 0 0.01 0z", "square": "M1.5 1.5h9v9h-9z", "triangle-up": "M6 1l5 9.5H1z", "diamond": "M6 0l4.5 6L6 12 1.5 6z",
        "triangle-down": "M6 11l5-9.5H1z", "cross": "M4 1h4v3h3v4H8v3H4V8H1V4h3z", "triangle-right": "M11 6L1.5 11V1z",
    };
    const failedOutline = "M2 0L6 4 10 0l2 2-4 4 4 4-2 2-4-4-4 4-2-2 4-4-4-4z";

    /* ---- drawing ---- */

    function showTip(handler, event, item, text) {
        tip.hidden = text === null || text === undefined || text === "";
        if (tip.hidden) return;
        tip.textContent = text;
        const box = tip.getBoundingClientRect(), x = event.clientX + 14, y = event.clientY + 14;
        tip.style.left = Math.max(4, Math.min(x, innerWidth - box.width - 8)) + "px";
        tip.style.top = (y + box.height > innerHeight ? Math.max(4, event.clientY - box.height - 10) : y) + "px";
    }

    const drawn = new Set(); /* the charts {host, fill, view} that a change of theme or width draws again */
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
        const view = charts.view(chart.fill(), theme(), { renderer: "svg", container: chart.host, hover: true, tooltip: showTip });
        view.width(chart.host.clientWidth);
        chart.view = view.run();
        chart.width = chart.host.clientWidth;
        drawn.add(chart);
    }
    /* Saves the chart as a file with its title and legend. The file has the width of the chart in the page; a PNG has
     * twice the pixels. */
    async function save(chart, type) {
        const shown = chart.fill(), view = charts.view(shown, theme(), { renderer: "none" }, true);
        view.width(Math.max(chart.host.clientWidth, 420));
        await view.runAsync();
        const url = type === "svg" ? "data:image/svg+xml;charset=utf-8," + encodeURIComponent(await view.toSVG())
            : (await view.toCanvas(2)).toDataURL("image/png");
        make("a", null, { href: url, download: charts.fileName(shown.title) + "." + type }).click();
        view.finalize();
    }
    /* Adds a chart to `inside`, and draws it when it comes into sight. `fill` returns its specification, signals and
     * tables. */
    function addChart(inside, fill) {
        const frame = make("div", inside, { className: "frame" });
        const host = make("div", frame, { className: "chart" }), chart = { host, fill };
        const links = make("div", frame, { className: "save" }, "Save as ");
        for (const type of ["svg", "png"]) {
            const button = make("button", links, { type: "button", textContent: type.toUpperCase() });
            button.onclick = () => save(chart, type);
        }
        waiting.set(host, chart);
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
    const themed = []; /* functions that draw legends and ramps again after a change of theme */
    const recolour = () => { themed.forEach((again) => again()); drawn.forEach(draw); };
    const print = (on) => {
        printing = on;
        document.documentElement.classList.toggle("printing", on);
        if (dark.matches) recolour();
    };
    dark.addEventListener("change", recolour);
    addEventListener("beforeprint", () => { print(true); [...waiting.keys()].forEach(now); });
    addEventListener("afterprint", () => print(false));

    /* ---- texts beside the charts ---- */

    /* Adds a legend. `entries` returns [text, shape, colour] of each entry for the present theme. */
    function legend(inside, entries) {
        const list = make("ul", inside, { className: "legend" });
        const fill = () => list.replaceChildren(...entries().map(([text, mark, colour]) => {
            const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS(svg.namespaceURI, "path");
            svg.setAttribute("viewBox", "0 0 12 12");
            svg.setAttribute("aria-hidden", "true");
            path.setAttribute("d", text === "failed" && mark === "cross" ? failedOutline : outlines[mark]);
            path.setAttribute("fill", colour);
            svg.append(path);
            return make("li", null, {}, svg, text);
        }));
        themed.push(fill);
        fill();
    }
    /* Adds a ramp of the colours, from the best time to 2^most times the best time. */
    function addRamp(inside, most, clamped) {
        const line = make("span", inside, { className: "ramp" }, "best"), bar = make("i", line);
        line.append((clamped ? "at least " : "") + digits(2 ** most, 2) + " × the best");
        const fill = () => {
            const stops = [0, 0.2, 0.4, 0.6, 0.8, 1].map((at) => vega.scheme("viridis")(theme().dark ? 1 - at : at));
            bar.style.background = "linear-gradient(90deg, " + stops.join(", ") + ")";
        };
        themed.push(fill);
        fill();
    }

    /* ---- the charts of a problem ---- */

    function bestSoFar(section, problem) {
        const controls = make("div", section, { className: "controls" });
        const state = { by: 0 };
        if (problem.variants.length > 1 || problem.failures.length) legend(section, () => charts.best(problem, theme(), state.by).legend);
        const body = make("div", section);
        const show = () => {
            clear(body);
            addChart(body, () => charts.best(problem, theme(), state.by));
        };
        choose(controls, "over", [charts.clockTitle, "number of the sample"], 0, (by) => { state.by = by; show(); });
        show();
        if (problem.points.length < problem.ran)
            make("p", section, { className: "note" }, many(problem.points.length) + " of " + many(problem.ran) +
                " samples are drawn as points, evenly over time; the line is of all of them. The other charts count all.");
    }

    function effects(body, problem, variant) {
        make("p", body, { className: "note" }, "For each value: the best time as a dot, the middle half of the times as a box with the median, " +
            "all of them as a line. The param whose choice matters most comes first.");
        const grid = make("div", body, { className: "grid" });
        for (const param of charts.byEffect(variant)) {
            const holder = make("div", grid);
            make("h4", holder, {}, param.name + " ", make("small", null, {}, charts.cost(param)));
            addChart(holder, () => charts.effect(problem, variant, param, theme()));
        }
        const costs = variant.params.filter((p) => p.labels.length < p.values);
        if (costs.length)
            make("p", body, { className: "note" }, "Neighbouring values share a place where there are many: " + costs.map((p) => p.name + " has " + many(p.values)).join(", ") + ".");
    }

    function pairs(body, problem, variant) {
        const { most, clamped } = charts.pairRange(variant), order = charts.byImportance(variant);
        make("p", body, { className: "note" }, "The best time for each pair of values, as a multiple of the variant's best. Empty: not sampled; ×: all failed.");
        addRamp(make("p", body), most, clamped);
        const grid = make("div", body, { className: "grid" });
        const add = (pair) => {
            const holder = make("div", grid);
            make("h4", holder, {}, variant.params[pair.a].name + " × " + variant.params[pair.b].name);
            addChart(holder, () => charts.heat(problem, variant, pair, theme()));
        };
        order.slice(0, 9).forEach(add);
        if (order.length > 9) {
            const button = make("button", body, { type: "button" }, "Show the other " + (order.length - 9) + " pairs");
            button.onclick = () => { button.remove(); order.slice(9).forEach(add); };
        }
    }

    function parallel(body, problem, variant) {
        const { most, clamped } = charts.lineRange(variant);
        make("p", body, { className: "note" }, "Each line is a configuration, from its values to its time" +
            (variant.lines.length < variant.ran ? "; " + many(variant.lines.length) + " of " + many(variant.ran) + " are drawn, the fastest among them." : "."));
        addRamp(make("p", body), most, clamped);
        const host = addChart(make("div", body, { className: "wide" }), () => charts.parallel(problem, variant, theme()));
        host.style.setProperty("--least", charts.parallelWidth(variant) + "px");
    }

    /* Adds the three charts of one variant. The user chooses the variant in any of the three. */
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
                part.select = choose(controls, "variant", charts.namesOf(problem), state.variant, (v) => { state.variant = v; show(); });
            }
            part.body = make("div", part.section);
        }
        show();
    }

    function roofline(section, problem) {
        const points = problem.roofline.points, several = problem.variants.length > 1;
        if (!points.length) {
            make("p", section, { className: "note" }, "Needs the spec's metrics flops and bytes, and measured or estimated times.");
            return;
        }
        const same = charts.oneIntensity(problem);
        if (several) legend(section, () => charts.variantLegend(charts.namesOf(problem), theme()));
        if (same !== null && several)
            make("p", section, { className: "note" }, "Every configuration has the intensity " + digits(same, 3) + " FLOP/byte; the variants stand side by side there.");
        addChart(section, () => charts.roofline(problem, theme()));
    }

    function trade(section, problem) {
        const controls = make("div", section, { className: "controls" }), order = charts.tradesOf(problem), { list, second } = problem.quantities;
        if (problem.variants.length > 1) legend(section, () => charts.variantLegend(charts.namesOf(problem), theme()));
        const body = make("div", section), start = Math.max(0, order.indexOf(second));
        const show = (number) => { clear(body); addChart(body, () => charts.trade(problem, order[number], theme())); };
        if (!order.length) {
            make("p", section, { className: "note" }, "They are the same in all samples.");
            return;
        }
        choose(controls, "show", order.map((i) => list[i].name), start, show);
        make("p", section, { className: "note" }, "The line joins the samples that none beats in both.");
        show(start);
    }

    function compare(section) {
        const controls = make("div", section, { className: "controls" }), body = make("div", section), pairs = data.pairs.filter((pair) => pair.points.length > 1);
        const show = (number) => {
            clear(body);
            const pair = pairs[number], shown = () => charts.compare(pair, theme());
            make("p", body, { className: "note" }, shown().subtitle + ". On the dashed line a configuration is as many times slower than the best on both.");
            if (shown().legend.length) legend(body, () => shown().legend);
            addChart(body, shown);
        };
        if (pairs.length > 1) choose(controls, "pair", pairs.map((pair) => pair.name_a + " and " + pair.name_b), 0, show);
        if (pairs.length) show(0);
        else make("p", section, { className: "note" }, "No two of them have two configurations in common.");
    }

    /* ---- the page of kiln compare-strategies ---- */

    function scores(section) {
        const controls = make("div", section, { className: "controls" }), state = { file: 0 };
        choose(controls, "on", ["the mean of all", ...data.files], 0, (file) => { state.file = file; show(); });
        const list = make("ul", section, { className: "legend" }), body = make("div", section);
        const key = () => list.replaceChildren(...data.strategies.map((strategy, i) => {
            const { colour, dash } = charts.scoreStyle(theme(), i);
            const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), mark = document.createElementNS(svg.namespaceURI, "line");
            svg.setAttribute("viewBox", "0 0 24 12");
            svg.style.width = "24px";
            for (const [name, value] of Object.entries({ x1: 0, x2: 24, y1: 6, y2: 6, stroke: colour, "stroke-width": 3, "stroke-dasharray": dash.join(" ") })) mark.setAttribute(name, value);
            svg.append(mark);
            return make("li", null, {}, svg, strategy.name);
        }));
        themed.push(key);
        key();
        make("p", section, { className: "note" }, "Scores below -1 are drawn at -1.");
        const show = () => {
            clear(body);
            addChart(body, () => charts.scores(theme(), state.file));
        };
        show();
    }

    /* ---- the whole page ---- */

    document.documentElement.classList.add("scripts");
    if (data.strategies) {
        scores(document.querySelector("[data-chart=scores]"));
        return;
    }
    const comparison = document.querySelector("[data-chart=compare]");
    if (comparison) compare(comparison);
    data.problems.forEach((problem, i) => {
        const article = document.getElementById("problem-" + i), at = (name) => article.querySelector("[data-chart=" + name + "]");
        if (!problem.ran) return;
        bestSoFar(at("best"), problem);
        ofVariant(article, problem);
        if (at("trade")) trade(at("trade"), problem);
        if (at("roofline")) roofline(at("roofline"), problem);
    });
})();
