// The mapped source over the batch, one frame at a time.
let bounds = null;

const across = (cloud) => cloud.coordinates[0];

// A row for every class if there is one feature only, with the points spread by the golden ratio; values have a height.
function heights(cloud) {
  if (cloud.coordinates.length > 1) return cloud.coordinates[1];
  return cloud.targets.map((target, i) => (data.classes ? target + 0.6 * (((i + 1) * 0.618034) % 1) - 0.3 : target));
}

const ends = (cloud, pick) => {
  const values = pick(cloud);
  return [Math.min(...values), Math.max(...values)];
};

function extent(frame, pick) {
  const [a, b] = [ends(frame.source, pick), ends(frame.batch, pick)];
  return [Math.min(a[0], b[0]), Math.max(a[1], b[1])];
}

// The range that most frames need: all of them, unless a few would make it much wider.
function usualRange(pick) {
  const [lows, highs] = [0, 1].map((end) => data.frames.map((frame) => extent(frame, pick)[end]).sort((a, b) => a - b));
  const at = (values, share) => values[Math.round(share * (values.length - 1))];
  const [all, most] = [[0, 1], [0.1, 0.9]].map(([low, high]) => [at(lows, low), at(highs, high)]);
  return all[1] - all[0] > 1.6 * (most[1] - most[0]) ? most : all;
}

// The range of a frame: the usual one, wider if the frame needs it, so that axes stand still while they can.
function framed(usual, frame, pick) {
  const own = extent(frame, pick);
  const [low, high] = [Math.min(usual[0], own[0]), Math.max(usual[1], own[1])];
  const room = 0.05 * (high - low || 1);
  return [low - room, high + room];
}

// Classes have colours and shapes, values a scale that is the same in all frames.
function look(targets, more) {
  if (data.classes) {
    return { ...more, color: targets.map(colour), symbol: targets.map(shape) };
  }
  return { ...more, color: targets, colorscale: scale(), cmin: bounds.value[0], cmax: bounds.value[1] };
}

const named = (target) => (data.classes ? (target < 0 ? "another class" : safe(data.classes[target])) : String(target));

// The points that were shown are an even part: this is the row of the i-th of them.
const row = (cloud, i) => Math.floor((i * cloud.size) / cloud.targets.length);

function told(cloud, i) {
  const lines = [`row ${row(cloud, i) + 1} of the batch`, `predicted ${named(cloud.targets[i])}`];
  if (cloud.confidence) lines[1] += ` (confidence ${cloud.confidence[i]})`;
  if (cloud.truth && cloud.truth[i] !== null) lines.push(`true ${named(cloud.truth[i])}`);
  return lines.join("<br>");
}

function cloudTraces(frame) {
  const { source, batch } = frame;
  const place = (cloud, keep) => {
    const [x, y] = [cloud.coordinates[0], heights(cloud)];
    return { type: "scatter", mode: "markers", x: keep ? keep.map((i) => x[i]) : x, y: keep ? keep.map((i) => y[i]) : y };
  };
  const many = batch.targets.length > 100;
  const edge = { width: many ? 1 : 1.5, color: css("--ink") };
  const bar = { thickness: 10, outlinewidth: 0, nticks: 5 };
  const traces = [
    {
      ...place(source), name: "mapped source", marker: look(source.targets, { size: 6, opacity: 0.5 }),
      text: source.targets.map((target) => `mapped source: ${named(target)}`), hoverinfo: "text",
    },
    {
      ...place(batch), name: "batch",
      marker: look(batch.targets, { size: many ? 7 : 9, opacity: 1, line: edge, showscale: !data.classes, colorbar: bar }),
      text: batch.targets.map((_, i) => told(batch, i)), hoverinfo: "text",
    },
  ];
  if (data.classes && batch.truth) {
    const wrong = batch.truth.flatMap((target, i) => (target !== null && target !== batch.targets[i] ? [i] : []));
    const marker = { symbol: "circle-open", size: many ? 13 : 18, color: css("--ink"), line: { width: many ? 1.5 : 2.5 } };
    traces.push({ ...place(batch, wrong), name: "wrong", marker, hoverinfo: "skip" });
  }
  return traces;
}

function cloudLayout(frame) {
  const [x, y] = [framed(bounds.x, frame, across), framed(bounds.y, frame, heights)];
  const [wide, high] = [x[1] - x[0], y[1] - y[0]];
  const flat = data.axes.length > 1;
  const alike = flat && wide < 4 * high && high < 4 * wide;
  const rows = !flat && data.classes;
  const name = flat ? data.axes[1] : rows ? "" : "value";
  return layout({
    uirevision: "kept",
    xaxis: { title: { text: safe(brief(data.axes[0], 60)) }, range: x },
    yaxis: {
      title: { text: safe(brief(name, 60)) }, range: y,
      ...(alike ? { scaleanchor: "x", scaleratio: 1 } : {}),
      ...(rows ? { tickvals: data.classes.map((_, i) => i), ticktext: data.classes.map((c) => safe(brief(c, 16))) } : {}),
    },
  });
}

function measure() {
  bounds = { x: usualRange(across), y: usualRange(heights), value: usualRange((cloud) => cloud.targets) };
}

const drawCloud = (frame) => Plotly.react("cloud", cloudTraces(frame), cloudLayout(frame), CONFIG);
