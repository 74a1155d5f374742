// The slider, the facts of the step it stands at, and the play button.
let current = 0;
let timer = null;

const column = (name, at) => data.columns[name][at];

function facts(at) {
  const number = (value, digits = 3) => (value === null ? "–" : Number(value.toPrecision(digits)).toString());
  const score = (value) => (value === null ? null : data.classes ? percent(value) : value.toFixed(3));
  const gap = column("gap", at) === null ? "unknown" : column("gap", at).toExponential(1);
  return [
    ["points", column("size", at)],
    [data.classes ? "accuracy" : "R²", score(column("score", at))],
    ["without adaptation", score(column("baseline", at))],
    ["confidence", column("confidence", at) === null ? null : percent(column("confidence", at))],
    ["believed track", column("track", at)],
    ["answered by", column("answer", at) === "source" ? "the source’s own estimator" : "the adapted estimator"],
    ["drift signal", column("signal", at) === null ? "too early" : `${column("signal", at).toFixed(1)} σ`],
    ["distance from the source", `${number(column("drift", at))} × chance`],
    ["transport cost", number(column("transport", at))],
    ["certified gap", column("converged", at) ? gap : `${gap}, above the tolerance`],
    ["time", `${number(column("seconds", at), 2)} s`],
  ].filter(([, value]) => value !== null);
}

function showFacts(at) {
  const list = document.getElementById("facts");
  list.replaceChildren();
  for (const [name, value] of facts(at)) {
    const [term, told] = ["dt", "dd"].map((tag) => document.createElement(tag));
    term.textContent = name;
    told.textContent = value;
    list.append(term, told);
  }
  const unsafe = document.getElementById("unsafe");
  unsafe.hidden = !column("warning", at);
  unsafe.textContent = column("warning", at);
}

// The classes, or the values, of this batch beside those of the source.
function showMix(frame) {
  const [title, traces, axes] = data.classes ? classMix(frame.at) : valueMix(frame);
  Plotly.react("mix", traces, layout({
    title: { text: `${title}: source (grey), batch (coloured)`, font: { size: 12, color: css("--soft") }, x: 0, xanchor: "left", y: 0.98, yanchor: "top" },
    margin: { l: 8, r: 8, t: 26, b: 8 }, ...axes,
  }), CONFIG);
}

function classMix(at) {
  const names = data.classes.map((name) => safe(brief(name, data.classes.length > 5 ? 9 : 14)));
  const numbers = names.map((_, k) => k);
  const bars = (name, y, tones) => ({
    type: "bar", name, x: numbers, y, text: names, textposition: "none", marker: { color: tones },
    hovertemplate: `%{text}<br>${name}: %{y:.1%}<extra></extra>`,
  });
  const few = names.length <= 12;
  const highest = [...data.usual, ...data.shares.flat()].reduce((a, b) => Math.max(a, b));
  const traces = [
    bars("in the source", data.usual, css("--source")),
    bars("in this batch", data.shares.map((series) => series[at]), numbers.map(colour)),
  ];
  const xaxis = { tickvals: few ? numbers : [], ticktext: few ? names : [], showgrid: false };
  return ["class shares", traces, { barmode: "group", bargap: 0.3, xaxis, yaxis: { range: [0, 1.05 * highest], nticks: 5, tickformat: ".0%" } }];
}

function valueMix(frame) {
  const [low, high] = bounds.value;
  const bars = (name, x, color, opacity) => ({
    type: "histogram", name, x, histnorm: "probability", xbins: { start: low, end: high, size: (high - low) / 15 || 1 },
    marker: { color }, opacity, hovertemplate: `%{x}<br>${name}: %{y:.1%}<extra></extra>`,
  });
  const traces = [bars("in the source", frame.source.targets, css("--source"), 1), bars("in this batch", frame.batch.targets, colour(0), 0.65)];
  return ["values", traces, { barmode: "overlay", bargap: 0.05, yaxis: { nticks: 5, tickformat: ".0%" } }];
}

function legend() {
  const home = document.getElementById("legend");
  home.replaceChildren();
  const add = (mark, text) => {
    const item = document.createElement("span");
    item.append(mark, text);
    home.append(item);
  };
  const ring = (size, fill, edge) => {
    const mark = document.createElement("i");
    mark.className = "ring";
    Object.assign(mark.style, { width: `${size}px`, height: `${size}px`, background: fill, borderColor: edge });
    return mark;
  };
  add(ring(8, css("--source"), "transparent"), "mapped source");
  add(ring(12, css("--source"), css("--ink")), data.classes ? "batch, as predicted" : "batch, predicted values");
  if (data.classes && known("score")) add(ring(16, "transparent", css("--ink")), "wrong");
  for (const [k, name] of (data.classes ?? []).slice(0, 24).entries()) {
    const mark = document.createElement("b");
    mark.textContent = GLYPHS[k % GLYPHS.length];
    mark.style.color = colour(k);
    add(mark, brief(name, 40));
  }
  if (data.classes?.length > 24) add("", `and ${data.classes.length - 24} more classes`);
}

function show(number) {
  current = Math.min(Math.max(number, 0), data.frames.length - 1);
  const { at } = data.frames[current];
  const slider = document.getElementById("slider");
  slider.value = current;
  const name = String(column("key", at));
  const moment = `step ${column("step", at)} of ${steps()[steps().length - 1]}` + (name === String(column("step", at)) ? "" : ` · ${name}`);
  slider.setAttribute("aria-valuetext", moment);
  document.getElementById("moment").textContent = moment;
  showFacts(at);
  drawCloud(data.frames[current]);
  showMix(data.frames[current]);
  markStep(column("step", at));
}

// To the frame nearest to a place on the axis of steps.
function go(step) {
  const off = (frame) => Math.abs(column("step", frame.at) - step);
  show(data.frames.reduce((best, frame, k) => (off(frame) < off(data.frames[best]) ? k : best), 0));
}

function pause() {
  clearInterval(timer);
  timer = null;
  const play = document.getElementById("play");
  play.textContent = "▶";
  play.setAttribute("aria-label", "Play");
}

function play() {
  if (timer !== null) return pause();
  if (current === data.frames.length - 1) show(0);
  const button = document.getElementById("play");
  button.textContent = "❚❚";
  button.setAttribute("aria-label", "Pause");
  timer = setInterval(() => {
    show(current + 1);
    if (current === data.frames.length - 1) pause();
  }, 500);
}

function drawAll() {
  legend();
  drawCurves((step) => { pause(); go(step); });
  show(current);
}

function begin() {
  const slider = document.getElementById("slider");
  slider.max = data.frames.length - 1;
  slider.addEventListener("input", () => { pause(); show(Number(slider.value)); });
  document.getElementById("play").addEventListener("click", play);
  for (const button of document.querySelectorAll("[data-at]")) {
    button.addEventListener("click", () => {
      pause();
      go(column("step", Number(button.dataset.at)));
      document.getElementById("player").scrollIntoView();
    });
  }
  dark.addEventListener("change", drawAll);
  measure();
  current = data.frames.length - 1;
  drawAll();
  document.body.dataset.ready = "yes";
}
