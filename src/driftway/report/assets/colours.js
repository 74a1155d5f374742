// Colours that colour-blind people tell apart (Okabe and Ito), each with a shape of its own.
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8d00", "#5b4b8a"];
const DARK = ["#4ea5e6", "#f0803c", "#2fc49a", "#e79cc8", "#f2b632", "#8fd0f7", "#c9cc4a", "#a797dd"];
const SHAPES = ["circle", "diamond", "square", "triangle-up", "star", "cross", "pentagon", "triangle-down", "hexagon", "x"];
const GLYPHS = ["●", "◆", "■", "▲", "★", "✚", "⬟", "▼", "⬢", "✖"];
// For values: as Cividis, but nowhere as dark or as bright as the page.
const SCALES = [[[0, "#00306b"], [0.5, "#7c7b78"], [1, "#e3b505"]], [[0, "#5a8fe6"], [0.5, "#a5a08f"], [1, "#ffe14d"]]];
const dark = window.matchMedia("(prefers-color-scheme: dark)");

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = (number) => (dark.matches ? DARK : LIGHT)[number % LIGHT.length];
const scale = () => SCALES[dark.matches ? 1 : 0];
const shape = (number) => SHAPES[number % SHAPES.length];

// Plotly reads a little markup in its texts; what users named is no markup.
const safe = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const percent = (value) => `${(100 * value).toFixed(1)} %`;
const brief = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function layout(more) {
  const axis = { gridcolor: css("--grid"), linecolor: css("--line"), zeroline: false, automargin: true, fixedrange: true };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, dragmode: false,
    hovermode: "closest", margin: { l: 8, r: 8, t: 8, b: 8 },
    font: { color: css("--ink"), size: 12, family: "system-ui, sans-serif" },
    hoverlabel: { font: { family: "system-ui, sans-serif" } },
    ...more,
    xaxis: { ...axis, ...more.xaxis },
    yaxis: { ...axis, ...more.yaxis },
  };
}
const CONFIG = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false };
