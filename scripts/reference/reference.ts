/** Reads with TypeDoc what the published packages export, finds what is not documented, and writes Markdown pages. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  Application,
  Comment,
  type DeclarationReflection,
  type DocumentationEntryPoint,
  Logger,
  LogLevel,
  type ProjectReflection,
  ReferenceReflection,
  ReflectionKind,
  RendererEvent,
  type Router,
} from "typedoc";
import type { MarkdownApplication } from "typedoc-plugin-markdown";
import type { ReferenceModule, ReferenceSymbol } from "../../apps/site/src/reference-symbols.ts";
import { by, distanceFromPrograms, distanceFromUsers } from "./order.ts";
import { ReferenceRouter, ReferenceTheme } from "./pages.ts";

/** A module that users import. */
export interface PublicModule {
  /** Its name as in an import: `@holdfast/core/election`. */
  readonly name: string;
  /** The path of its source file. */
  readonly file: string;
}

/** The exports of some modules. */
export interface Reference {
  /** Returns what is missing: comments, targets of links, and examples of functions and classes. */
  shortcomings(): readonly string[];
  /** Writes the pages and `symbols.json` into a folder, and removes everything else there. */
  write(folder: string): Promise<void>;
}

/**
 * Reads the exports of modules from their sources.
 *
 * @param modules in the order of their dependencies: a symbol belongs to the first module that exports it
 * @param options the path of a `typedoc.json`
 * @throws {Error} if TypeDoc cannot read the modules
 */
export async function readReference(modules: readonly PublicModule[], options: string): Promise<Reference> {
  const files = modules.map(({ file }) => file);
  const app = await Application.bootstrapWithPlugins({ options, entryPoints: files, entryPointStrategy: "resolve" });
  const logger = new CollectingLogger();
  app.logger = logger;
  const { renderer } = app as MarkdownApplication;
  renderer.defineRouter("reference", ReferenceRouter);
  renderer.defineTheme("reference", ReferenceTheme);
  app.options.setValue("router", "reference");
  app.options.setValue("theme", "reference");
  // Only what the modules import.
  app.options.setCompilerOptions(files, app.options.getCompilerOptions(logger), undefined);

  const names = new Map(modules.map(({ name, file }) => [file, name]));
  const entryPoints = (app.getEntryPoints() ?? []).map((entry) => ({
    ...entry,
    displayName: names.get(entry.sourceFile.fileName) ?? entry.displayName,
  }));
  const project = app.converter.convert(entryPoints);
  if (entryPoints.length !== modules.length) throw new Error(["TypeDoc cannot read", ...logger.messages].join("\n"));
  arrange(project, entryPoints);
  app.validate(project);
  return {
    shortcomings: () => [...logger.messages, ...withoutComment(project), ...withoutExample(project)],
    async write(folder) {
      let symbols: ReferenceModule[] = [];
      // The renderer has a router only while it renders.
      app.renderer.on(RendererEvent.END, () => {
        symbols = listOf(project, app.renderer.router as Router);
      });
      await app.outputs.writeOutput({ name: "markdown", path: folder }, project);
      await rm(join(folder, "_media"), { recursive: true, force: true }); // copies of files that comments link to
      await writeFile(join(folder, "symbols.json"), JSON.stringify(symbols));
    },
  };
}

class CollectingLogger extends Logger {
  readonly messages: string[] = [];

  override log(message: string, level: LogLevel): void {
    if (level >= LogLevel.Warn) this.messages.push(message);
  }
}

/** Arranges what readers look through, and adds the comments that TypeDoc does not take from the sources. */
function arrange(project: ProjectReflection, entryPoints: readonly DocumentationEntryPoint[]): void {
  const files = new Map(entryPoints.map(({ displayName, sourceFile }) => [displayName, sourceFile]));
  for (const { children } of [project, ...(project.groups ?? [])]) {
    children?.sort(by((module) => [...files.keys()].indexOf(module.name))).sort(by(distanceFromPrograms));
  }
  for (const module of project.children ?? []) {
    const comment = commentOf(files.get(module.name)?.text ?? "");
    if (comment !== undefined) module.comment ??= comment;
    module.children?.sort((one, other) => one.name.localeCompare(other.name)).sort(by(distanceFromUsers));
  }
  for (const symbol of project.getReflectionsByKind(ReflectionKind.ClassOrInterface) as DeclarationReflection[]) {
    symbol.children?.sort(by(isInherited));
  }
  for (const symbol of project.getReflectionsByKind(ReflectionKind.Function) as DeclarationReflection[]) {
    // The comment of a function is that of its signature. This one is that of the export: a module's, before its first.
    delete symbol.comment;
  }
  for (const reference of project.getReflectionsByKind(ReflectionKind.Reference) as ReferenceReflection[]) {
    const { comment, signatures } = reference.getTargetReflectionDeep() as DeclarationReflection;
    const text = comment ?? signatures?.[0]?.comment;
    if (text !== undefined) reference.comment = text;
  }
}

function isInherited(member: DeclarationReflection): number {
  if (member.kind === ReflectionKind.Constructor) return -1;
  return member.inheritedFrom === undefined ? 0 : 1;
}

/** Returns the comment at the beginning of a file, which TypeDoc reads only with a tag. */
function commentOf(source: string): Comment | undefined {
  const [, lines] = /^\/\*\*([\s\S]*?)\*\//.exec(source) ?? [];
  const text = lines?.replace(/^ *\* ?/gm, "").trim();
  return text === undefined ? undefined : new Comment([{ kind: "text", text }]);
}

function withoutComment({ children = [] }: ProjectReflection): string[] {
  return children.filter((module) => !module.hasComment()).map(({ name }) => `${name} has no comment at its beginning`);
}

function withoutExample(project: ProjectReflection): string[] {
  const symbols = project.getReflectionsByKind(
    ReflectionKind.Function | ReflectionKind.Class,
  ) as DeclarationReflection[];
  return symbols
    .filter((symbol) => symbol.parent?.kind === ReflectionKind.Module && !hasExample(symbol))
    .map((symbol) => `${symbol.name} of ${symbol.parent?.name} has no @example`);
}

/** Whether the comment of a function, or that of a class or of its constructor, has an example. */
function hasExample({ comment, signatures = [], children = [] }: DeclarationReflection): boolean {
  const constructors = children.filter(({ kind }) => kind === ReflectionKind.Constructor);
  return (
    comment?.getTag("@example") !== undefined ||
    signatures.some((signature) => signature.comment?.getTag("@example") !== undefined) ||
    constructors.some(hasExample)
  );
}

function listOf(project: ProjectReflection, router: Router): ReferenceModule[] {
  return (project.children ?? []).map((module) => ({
    name: module.name,
    page: router.getFullUrl(module),
    symbols: (module.children ?? []).map((symbol) => entryOf(symbol, router)),
  }));
}

function entryOf(exported: DeclarationReflection, router: Router): ReferenceSymbol {
  const symbol = exported instanceof ReferenceReflection ? exported.getTargetReflectionDeep() : exported;
  const { children = [] } = symbol as DeclarationReflection;
  const members = children.filter((member) => member.kind !== ReflectionKind.Constructor && router.hasUrl(member));
  return {
    name: exported.name,
    kind: kinds.get(symbol.kind) ?? "type",
    page: router.getFullUrl(symbol).replace(/#.*/, ""),
    anchor: router.getAnchor(symbol) ?? "",
    members: Object.fromEntries(members.map((member) => [member.name, router.getAnchor(member) ?? ""])),
  };
}

const kinds: ReadonlyMap<ReflectionKind, ReferenceSymbol["kind"]> = new Map([
  [ReflectionKind.Class, "class"],
  [ReflectionKind.Function, "function"],
  [ReflectionKind.Variable, "variable"],
  [ReflectionKind.Interface, "interface"],
]);
