/** How a page looks where somebody shares a link to it: a description and a picture. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Resvg } from "@resvg/resvg-js";
import MarkdownIt from "markdown-it";
import { mark } from "../brand.ts";

/** The most characters of a description: search engines show no more. */
const longestDescription = 160;

/** Returns the beginning of a page's first paragraph, as text; an empty string if it has none. */
export function descriptionOf(markdown: string): string {
  const tokens = new MarkdownIt().parse(markdown.replace(/^---\n[\s\S]*?\n---\n/, ""), {});
  const start = tokens.findIndex(({ type, level }) => type === "paragraph_open" && level === 0);
  const parts = tokens[start + 1]?.children ?? [];
  const text = parts.map(({ type, content }) => (type === "softbreak" ? " " : content)).join("");
  if (text.length <= longestDescription) return text;
  return `${text.slice(0, longestDescription - 1).replace(/\s+\S*$/, "")}…`;
}

/**
 * Draws the picture of a page, and writes it into the built site.
 *
 * @param page the page's path, such as `core/index.md`
 * @returns the picture's address on the site
 */
export async function writePicture(page: string, title: string, outDir: string): Promise<string> {
  const file = `social/${page.replace(/\.md$/, ".png")}`;
  await mkdir(dirname(join(outDir, file)), { recursive: true });
  await writeFile(join(outDir, file), pictureOf(title));
  return `/${file}`;
}

/** The most letters of a line, and the most lines. */
const [longestLine, mostLines] = [27, 4];

function pictureOf(title: string): Buffer {
  const lines = linesOf(title)
    .slice(0, mostLines)
    .map((line, index) => `<text x="80" y="${300 + 84 * index}" font-size="64" font-weight="bold">${line}</text>`);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630" fill="#fff" font-family="DejaVu Sans">
<rect width="1200" height="630" fill="#1b2440"/><g transform="translate(72 64) scale(3)">${mark("#9db2f5")}</g>
<text x="192" y="130" font-size="44" fill="#9db2f5">Holdfast</text>${lines.join("")}</svg>`;
  return new Resvg(svg, { font: { fontFiles, loadSystemFonts: false } }).render().asPng();
}

const fontFiles = ["DejaVuSans", "DejaVuSans-Bold"].map((name) =>
  fileURLToPath(import.meta.resolve(`dejavu-fonts-ttf/ttf/${name}.ttf`)),
);

function linesOf(title: string): string[] {
  const lines = [""];
  for (const word of title.replace(/[<&]/g, (sign) => `&#${sign.charCodeAt(0)};`).split(" ")) {
    const line = `${lines.at(-1)} ${word}`.trim();
    if (line.length <= longestLine) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  return lines;
}
