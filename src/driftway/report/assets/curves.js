// The curves of all steps; a line marks the step that is looked at.
const MANY = 60;

const steps = () => data.columns.step;
const known = (name) => data.columns[name].some((value) => value !== null);

function curve(name, y, number, more = {}) {
  const few = steps().length <= MANY;
  return {
    type: "scatter", mode: few ? "lines+markers" : "lines", name, x: steps(), y,
    line: { color: colour(number), width: few ? 2 : 1.25, dash: few ? more.dash : "solid" }, marker: { color: colour(number), size: 6, symbol: shape(number) },
    text: y.map((value, i) => `step ${steps()[i]} (${safe(data.columns.key[i])})`),
    hovertemplate: `%{text}<br>${safe(name)}: %{y${more.form ?? ":.3g"}}<extra></extra>`,
  };
}

const rule = (y, text) => ({
  shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: css("--soft"), width: 1, dash: "dot" } }],
  annotations: [{ xref: "paper", x: 1, xanchor: "right", y, yanchor: "bottom", text, showarrow: false, bgcolor: css("--panel"), opacity: 0.85, borderpad: 0, font: { color: css("--soft"), size: 11 } }],
});

function scores() {
  const traces = [];
  const name = data.classes ? "accuracy" : "R²";
  const form = data.classes ? ":.1%" : ":.3f";
  if (known("score")) traces.push(curve(name, data.columns.score, 0, { form }));
  if (known("baseline")) traces.push(curve("without adaptation", data.columns.baseline, 1, { form, dash: "dash" }));
  if (known("confidence")) traces.push(curve("confidence", data.columns.confidence, 2, { form, dash: "dot" }));
  if (!traces.length) return null;
  const note = data.classes ? "Confidence: the share of a point’s mass that came from the class predicted for it." : "Share of the variance that is explained.";
  const title = known("score") ? (data.classes ? "Accuracy and confidence" : name) : "Confidence";
  const range = data.classes ? { tickformat: ".0%", range: [-0.03, 1.03] } : {};
  return { title, note, traces, yaxis: range };
}

function signal() {
  if (!known("signal")) return null;
  return {
    title: "Drift signal", note: "How unusual the batch was beside those before, in standard deviations (from the sixth step on).",
    traces: [curve("signal", data.columns.signal, 0, { form: ":.1f" })], ...rule(data.unusual, "a step warns beyond this"),
  };
}

const drift = () => ({
  title: "Distance from the source", note: "Energy distance of the batch from the source where it began, over what chance explains.",
  traces: [curve("distance", data.columns.drift, 0)],
  yaxis: { type: "log", dtick: 1, tickformat: "~g" }, ...rule(1, "chance"),
});

const transport = () => ({
  title: "Transport cost", note: "⟨γ, C⟩ of the plan, and how far the source moved, in units of the scaled features.",
  traces: [curve("transport cost", data.columns.transport, 0), curve("moved", data.columns.displacement, 1, { dash: "dash" })],
  yaxis: { rangemode: "tozero" },
});

function shares() {
  if (!data.classes) {
    const names = ["10 % below", "median", "90 % below"];
    const dashes = ["dot", "solid", "dot"];
    const traces = data.shares.map((series, k) => curve(names[k], series, 0, { dash: dashes[k] }));
    return { title: "Predicted values", note: "Median, and the range of the middle four fifths.", traces };
  }
  const traces = data.shares.map((series, k) => ({
    ...curve(data.classes[k], series, k, { form: ":.1%" }), stackgroup: "classes", mode: "lines", line: { width: 0.5, color: colour(k) },
  }));
  const note = "Shares of the classes in every batch, as predicted.";
  return { title: "Class proportions", note, traces, yaxis: { tickformat: ".0%", range: [0, 1] } };
}

function convergence() {
  const ends = data.columns.converged.map((done) => (done ? shape(0) : "x"));
  const traces = [curve("certified gap", data.columns.gap.map((gap) => gap && Math.max(gap, 1e-16)), 0, { form: ":.1e" })];
  traces[0].marker.symbol = ends;
  const title = "Convergence";
  const logs = [...data.columns.gap, data.tol].filter((gap) => gap > 0).map(Math.log10).sort((a, b) => a - b);
  const yaxis = { type: "log", exponentformat: "power", dtick: Math.max(1, Math.ceil((logs.at(-1) - logs[0]) / 4)) };
  return { title, note: "How far from optimal each plan can be at most, certified; × where it is above the tolerance.", traces, yaxis, ...rule(data.tol, "tolerance") };
}

function tracks() {
  const names = [...new Set(data.columns.track)];
  const { track, answer, warning } = data.columns;
  const filled = answer.map((value, i) => (value === "source" ? "transparent" : colour(names.indexOf(track[i]))));
  const trace = {
    ...curve("track", track.map(safe), 0), mode: "markers",
    marker: { color: filled, symbol: "square", size: 10, line: { width: 2, color: track.map((name) => colour(names.indexOf(name))) } },
    hovertemplate: "%{text}<extra></extra>",
  };
  trace.text = trace.text.map((text, i) => `${text}<br>${safe(track[i])}, answered by the ${answer[i] === "source" ? "source’s own estimator" : "adapted estimator"}`);
  const unsafe = warning.flatMap((text, i) => (text ? [i] : []));
  const mark = {
    type: "scatter", mode: "text", x: unsafe.map((i) => steps()[i]), y: unsafe.map((i) => safe(track[i])),
    text: unsafe.map(() => "!"), textfont: { size: 13, weight: 800, color: css("--panel") }, hoverinfo: "skip",
  };
  mark.textfont.color = unsafe.map((i) => (answer[i] === "source" ? css("--ink") : css("--panel")));
  return {
    title: "Believed track", note: "The hypothesis of motion that the batches supported; hollow while the source’s own estimator answers, ! where a step warned.",
    traces: [trace, mark], yaxis: { type: "category", range: [-0.6, Math.max(names.length, 2) - 0.4], showgrid: false },
  };
}

function curveLegend(caption, traces) {
  const shown = traces.filter((trace) => trace.line && trace.name !== "track");
  if (shown.length < 2) return;
  const line = document.createElement("small");
  for (const trace of shown.slice(0, 12)) line.append(key(trace.line.color, trace.name, trace.line.dash), " ");
  if (shown.length > 12) line.append(`and ${shown.length - 12} more`);
  caption.append(line);
}

function key(tone, name, dash) {
  const item = document.createElement("span");
  const sample = document.createElement("i");
  sample.className = "key";
  sample.style.borderTop = `3px ${dash === "dash" ? "dashed" : dash === "dot" ? "dotted" : "solid"} ${tone}`;
  item.append(sample, brief(name, 40));
  return item;
}

const CURVES = [scores, signal, drift, transport, shares, convergence, tracks];
let places = [];

function drawCurves(go) {
  const home = document.getElementById("curves");
  home.replaceChildren();
  places = [];
  for (const make of CURVES) {
    const made = make();
    if (!made) continue;
    const [figure, caption, note, plot] = ["figure", "figcaption", "small", "div"].map((tag) => document.createElement(tag));
    note.textContent = made.note;
    caption.append(made.title, note);
    curveLegend(caption, made.traces);
    plot.className = "plot";
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", `${made.title}. ${made.note}`);
    figure.append(caption, plot);
    home.append(figure);
    const [first, last] = [steps()[0], steps()[steps().length - 1]];
    const xaxis = { range: [first - 0.5, last + 0.5], tickformat: "d", nticks: 8, title: { text: "step", standoff: 4 } };
    const drawn = layout({ xaxis, yaxis: made.yaxis ?? {}, shapes: made.shapes ?? [], annotations: made.annotations ?? [], hovermode: "closest" });
    if (made.yaxis?.type === "log") for (const item of drawn.annotations) item.y = Math.log10(item.y);
    Plotly.newPlot(plot, made.traces, drawn, CONFIG);
    plot.addEventListener("click", (event) => {
      const area = plot.querySelector(".nsewdrag")?.getBoundingClientRect();
      if (!area) return;
      const share = (event.clientX - area.left) / area.width;
      go(first - 0.5 + share * (last - first + 1));
    });
    places.push({ plot, shapes: made.shapes ?? [] });
  }
}

function markStep(step) {
  const line = { type: "line", yref: "paper", y0: 0, y1: 1, x0: step, x1: step, line: { color: css("--ink"), width: 1.5 }, opacity: 0.6 };
  for (const { plot, shapes } of places) Plotly.relayout(plot, { shapes: [...shapes, line] });
}
