import { existsSync } from "node:fs";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { replaceLinks } from "./markdown.ts";
import { type Manifest, readManifest } from "./workspace.ts";

/** The folder of a package that is published. */
export const publishedFolder = "dist/package";

/** The file for each export condition. */
type Conditions = Readonly<Record<string, string>>;

interface PublicManifest extends Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, Conditions>>;
  readonly keywords?: readonly string[];
  readonly scripts?: unknown;
}

interface RootManifest {
  readonly keywords: readonly string[];
  readonly repository?: string;
}

/** Stands for the repository until the root manifest names it. RFC 2606 reserves this host name. */
const madeUpRepository = "https://example.com/holdfast";

/** Writes the published manifest, README.md, CHANGELOG.md and manual pages of a package beside its built code. */
export async function writeManifestAndPages(directory: string, workspace: string): Promise<void> {
  const folder = join(directory, publishedFolder);
  const manifest = (await readManifest(directory)) as PublicManifest;
  const { keywords, repository } = await readRootManifest(workspace);
  const home: Home = {
    url: repository === undefined ? madeUpRepository : webAddress(repository),
    tag: `${manifest.name}@${manifest.version}`,
    workspace,
    directory,
  };
  const contents = {
    ...publishedManifest(manifest, keywords, home),
    ...(repository === undefined && { private: true }), // can be packed and tried, but not published
  };
  await writeFile(join(folder, "package.json"), `${JSON.stringify(contents, null, 2)}\n`);
  for (const page of manifest.man ?? []) await cp(join(directory, page), join(folder, page));
  for (const page of ["README.md", "CHANGELOG.md"]) {
    if (!existsSync(join(directory, page))) continue;
    await writeFile(join(folder, page), withAbsoluteLinks(await readFile(join(directory, page), "utf8"), home));
  }
}

/**
 * Returns the address of the repository, for published manifests and pages. Rejects if the root manifest has none.
 */
export async function requireRepository(workspace: string): Promise<string> {
  const { repository } = await readRootManifest(workspace);
  if (repository !== undefined) return webAddress(repository);
  throw new Error(
    `a release needs the address of the repository: add "repository": "https://…" to the package.json of the workspace. ` +
      "The repository, homepage, bugs and README links of every package are made from it.",
  );
}

async function readRootManifest(workspace: string): Promise<RootManifest> {
  return JSON.parse(await readFile(join(workspace, "package.json"), "utf8"));
}

function webAddress(repository: string): string {
  const address = /^https:\/\/[^/\s]+\/\S+?(?=(\.git)?\/?$)/.exec(repository)?.[0];
  if (address) return address;
  throw new Error(
    `"repository" in package.json must look like "https://host/owner/name", but is ${JSON.stringify(repository)}`,
  );
}

/** The place of a package in its repository. */
export interface Home {
  /** The repository in a browser. */
  readonly url: string;
  /** The tag of the release. */
  readonly tag: string;
  readonly workspace: string;
  readonly directory: string;
}

/** Returns the manifest that users see: its paths start beside the code, and it has no field of this workspace. */
function publishedManifest(manifest: PublicManifest, commonKeywords: readonly string[], home: Home): object {
  const { devDependencies, scripts, keywords = [], bin, exports, ...rest } = manifest;
  const place = relative(home.workspace, home.directory);
  const entry = exports["."];
  const main = entry && published(entry.require ?? entry.default ?? "");
  return {
    ...rest,
    keywords: [...commonKeywords, ...keywords],
    homepage: `${home.url}/tree/${home.tag}/${place}#readme`,
    repository: { type: "git", url: `git+${home.url}.git`, directory: place },
    bugs: { url: `${home.url}/issues` },
    type: Object.values(exports).some((conditions) => conditions.require) ? "commonjs" : "module",
    ...(main && { main, types: main.replace(/\.js$/, ".d.ts") }), // for tools that do not read `exports`
    exports: Object.fromEntries(Object.entries(exports).map(([path, conditions]) => [path, builtOnly(conditions)])),
    ...(bin && { bin: Object.fromEntries(Object.entries(bin).map(([name, source]) => [name, built(source)])) }),
    publishConfig: { access: "public" },
  };
}

function builtOnly({ "@holdfast/source": _, ...conditions }: Conditions): Conditions {
  return Object.fromEntries(Object.entries(conditions).map(([name, path]) => [name, published(path)]));
}

function published(path: string): string {
  return path.replace(`./${publishedFolder}/`, "./");
}

function built(source: string): string {
  return source.replace(/^\.\/src\/(.*)\.ts$/, "./esm/$1.js");
}

/** Returns the page with relative links replaced by links to the repository at the tag of the release. */
export function withAbsoluteLinks(page: string, { url, tag, workspace, directory }: Home): string {
  return replaceLinks(page, (link) => {
    if (/^(#|[a-z]+:)/.test(link)) return link;
    const [path = "", ...fragment] = link.split(/(?=#)/);
    const target = join(directory, path);
    const place = relative(workspace, target);
    if (!existsSync(target))
      throw new Error(`a page of ${relative(workspace, directory)} links to ${place}, which does not exist`);
    return [`${url}/blob/${tag}/${place}`, ...fragment].join("");
  });
}
