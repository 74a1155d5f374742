// Unpacks the script and the data, which browsers do by themselves, and begins.
let data = null;

async function unpacked(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

function excuse(error) {
  const place = document.getElementById("problem");
  console.error(error);
  place.hidden = false;
  place.textContent = `The pictures cannot be drawn (${error.message}). They need a browser of 2023 or later; the tables below do not.`;
}

(async () => {
  const script = document.createElement("script");
  script.textContent = await unpacked("library");
  document.head.append(script);
  data = JSON.parse(await unpacked("data"));
  begin();
})().catch(excuse);
