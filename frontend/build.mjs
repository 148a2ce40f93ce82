// Builds everything the pages load into dist/levee: levee.js, try.js (the reference of the API alone), levee.css, icons.svg, fonts/ and
// the pictures of styles/.
// Run by set-up; nothing here is needed while Levee runs. The old build is replaced only when the new one is whole.

import { build } from "esbuild";
import { copyFile, mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { purge, withoutUnread } from "./purge.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "dist");
const staging = join(here, "dist.part");
const out = join(staging, "levee");
// Tabler draws an invisible square under every icon, to help editors; it is not shipped.
const emptySquare = '<path stroke="none" d="M0 0h24v24H0z" fill="none" />';
const iconSet = join(here, "node_modules", "@tabler", "icons", "icons");

// Browsers of the last two years: nothing is rewritten for older ones.
const browsers = ["chrome123", "firefox121", "safari17.5"];

function bundle(entry, file, extra) {
  return build({
    absWorkingDir: here,
    entryPoints: [entry],
    outfile: join(out, file),
    bundle: true,
    minify: true,
    target: browsers,
    legalComments: "eof",
    logLevel: "warning",
    ...extra,
  });
}

function script() {
  return Promise.all([bundle("js/main.js", "levee.js", { format: "iife" }), bundle("js/try.js", "try.js", { format: "iife" })]);
}

// Fonts are copied beside the stylesheet; pictures keep their names, because they lie beside it under the same names.
function stylesheet() {
  return bundle("styles/main.css", "levee.css", {
    loader: { ".woff2": "file" },
    assetNames: "fonts/[name]",
    external: ["*.svg"],
    plugins: [{ name: "tabler", setup: (build) => build.onLoad({ filter: /tabler\.min\.css$/ }, tabler) }],
  });
}

// Tabler is ten times what the pages use of it: only rules for the classes in tabler.txt are shipped, and the properties that are read.
async function tabler({ path }) {
  const lines = (await readFile(join(here, "tabler.txt"), "utf8")).split("\n").map((line) => line.trim());
  const kept = new Set(lines.filter((line) => line && !line.startsWith("#")));
  const styles = (await readdir(join(here, "styles"))).filter((name) => name.endsWith(".css"));
  const own = await Promise.all(styles.map((name) => readFile(join(here, "styles", name), "utf8")));
  return { contents: withoutUnread(purge(await readFile(path, "utf8"), kept), own.join("\n")), loader: "css" };
}

async function pictures() {
  const files = (await readdir(join(here, "styles"))).filter((name) => name.endsWith(".svg"));
  await Promise.all(files.map((name) => copyFile(join(here, "styles", name), join(out, name))));
}

// One <symbol> per line of icons.txt: `name` (outline) or `name-filled`. Lines that start with # are comments.
async function sprite() {
  const lines = (await readFile(join(here, "icons.txt"), "utf8")).split("\n").map((line) => line.trim());
  const names = [...new Set(lines.filter((line) => line && !line.startsWith("#")))].sort();
  const symbols = await Promise.all(names.map(symbol));
  const body = `<svg xmlns="http://www.w3.org/2000/svg">\n${symbols.join("\n")}\n</svg>\n`;
  await writeFile(join(out, "icons.svg"), body);
}

async function symbol(name) {
  const filled = name.endsWith("-filled");
  const file = filled ? join("filled", name.slice(0, -"-filled".length)) : join("outline", name);
  const svg = await readFile(join(iconSet, `${file}.svg`), "utf8").catch(() => {
    throw new Error(`icons.txt names "${name}", which @tabler/icons does not have`);
  });
  const inner = svg.slice(svg.indexOf(">", svg.indexOf("<svg")) + 1, svg.lastIndexOf("</svg>")).replace(emptySquare, "");
  const paint = filled
    ? 'fill="currentColor"'
    : 'fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"';
  return `<symbol id="${name}" viewBox="0 0 24 24" ${paint}>${inner.replace(/\s*\n\s*/g, "")}</symbol>`;
}

async function main() {
  await rm(staging, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await Promise.all([script(), stylesheet(), pictures(), sprite()]);
  await rm(target, { recursive: true, force: true });
  await rename(staging, target);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
