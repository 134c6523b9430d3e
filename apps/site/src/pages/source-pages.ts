/** Pages that show the source files and folders that other pages link to. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { linkedFiles } from "./links.ts";
import { isPage, pageOf, routeOf, sourceRouteOf, sourceSlug } from "./routes.ts";

const root = resolve(import.meta.dirname, "../../../..");

/** A page of VitePress's dynamic route. */
interface SourcePage {
  readonly params: { readonly file: string };
  readonly content: string;
}

/** Returns a page for each file and folder of the repository, other than pages, that a page links to. */
export function sourcePages(): SourcePage[] {
  const pages = filesBelow("").filter(isPage);
  const linked = pages.flatMap((page) => linkedFiles(readFileSync(join(root, page), "utf8"), join(root, page), root));
  const files = [...new Set(linked)].filter((file) => !isPage(file));
  return files.map((file) => ({
    params: { file: sourceSlug(file) },
    content: statSync(join(root, file)).isDirectory() ? folderPage(file, files) : filePage(file),
  }));
}

/** Returns the files of a folder of the repository, except hidden, installed and built ones. Works without Git. */
function filesBelow(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return path;
    const isLeftOut = /^(\..*|node_modules|dist|reports)$/.test(entry.name);
    return entry.isDirectory() && !isLeftOut ? filesBelow(path) : [];
  });
}

/** Files with more characters are shown without colors, which would make the page five times as large. */
const mostColored = 5_000;

function filePage(file: string): string {
  const text = readFileSync(join(root, file), "utf8");
  const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  const language = text.length > mostColored ? "txt" : languageOf(file);
  return `# ${file}\n\n${fence}${language}\n${text.trimEnd()}\n${fence}\n`;
}

function languageOf(file: string): string {
  const extension = extname(file).slice(1);
  return { pml: "txt", "": "txt" }[extension] ?? extension;
}

function folderPage(folder: string, linked: readonly string[]): string {
  const lines = readdirSync(join(root, folder)).map((name) => {
    const file = `${folder}/${name}`;
    if (isPage(file)) return `- [${name}](${routeOf(pageOf(file))})`;
    return linked.includes(file) ? `- [${name}](${sourceRouteOf(file)})` : `- ${name}`;
  });
  return `# ${folder}\n\n${lines.join("\n")}\n`;
}
