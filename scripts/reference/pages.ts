/** How the pages of the API reference look, and where they are: one page for each module, with a section for each symbol. */
import { dirname, relative } from "node:path";
import {
  type Comment,
  type CommentDisplayPart,
  CommentTag,
  type ContainerReflection,
  DeclarationReflection,
  type PageDefinition,
  PageKind,
  type ProjectReflection,
  type ReferenceReflection,
  Reflection,
  ReflectionKind,
  type RouterTarget,
  type SignatureReflection,
} from "typedoc";
import { MarkdownTheme, MarkdownThemeContext, ModuleRouter } from "typedoc-plugin-markdown";
import { isCalled } from "./order.ts";

/** Puts `@holdfast/core` on `core/index.md`, with `Lock` at `#lock` and its member `fence` at `#lock-fence`. */
export class ReferenceRouter extends ModuleRouter {
  override buildPages(project: ProjectReflection): PageDefinition[] {
    const pages = super.buildPages(project);
    // A symbol that a module exports again has its section where it belongs.
    for (const reference of project.getReflectionsByKind(ReflectionKind.Reference)) {
      const target = (reference as ReferenceReflection).tryGetTargetReflectionDeep();
      const url = target && this.fullUrls.get(target);
      if (url !== undefined) this.fullUrls.set(reference, url);
    }
    return pages;
  }

  override getIdealBaseName(module: Reflection): string {
    return module.isProject() ? "index" : `${withoutScope(module)}/index`;
  }

  protected override getPageKind(target: RouterTarget): PageKind | undefined {
    const hasPage = target instanceof Reflection && target.kindOf([ReflectionKind.Project, ReflectionKind.Module]);
    return hasPage ? PageKind.Reflection : undefined;
  }

  /** Gives an anchor to a symbol and to each of its members. */
  override buildAnchors(symbol: RouterTarget, module: RouterTarget): void {
    if (!(symbol instanceof DeclarationReflection) || symbol.kind === ReflectionKind.Reference) return;
    const isTaken = symbol.kind === ReflectionKind.Function && hasNamesake(symbol);
    const name = isTaken ? `${symbol.name}-function` : symbol.name;
    this.#setAnchor(symbol, name, module);
    for (const member of symbol.children ?? []) {
      if (member.kind !== ReflectionKind.Constructor) this.#setAnchor(member, `${name}-${member.name}`, module);
    }
  }

  #setAnchor(target: Reflection, name: string, module: RouterTarget): void {
    const anchor = this.getSlugger(module).slug(name);
    this.anchors.set(target, anchor);
    this.fullUrls.set(target, `${this.getFullUrl(module)}#${anchor}`);
  }
}

function withoutScope({ name }: Reflection): string {
  return name.replace(/^@[^/]+\//, "");
}

/** Whether the name of another symbol, such as `Election` beside `election`, differs only in its case. */
function hasNamesake(symbol: Reflection): boolean {
  const name = symbol.name.toLowerCase();
  const siblings = symbol.parent?.isDeclaration() ? (symbol.parent.children ?? []) : [];
  return siblings.some((sibling) => sibling !== symbol && sibling.name.toLowerCase() === name);
}

type Page = ConstructorParameters<typeof MarkdownThemeContext>[1];

/**
 * The theme of typedoc-plugin-markdown with headings for symbols and members only, because each heading is an entry of the
 * site's search.
 */
export class ReferenceTheme extends MarkdownTheme {
  override render(page: Page): string {
    const text = super.render(page).replaceAll("\n***\n", "");
    const withFewHeadings = text.replace(/^(##+) `abstract` /gm, "$1 ").replace(/^#{3,} (.*[^}\n])$/gm, "**$1**");
    // Members would make the outline long.
    return `---\noutline: 2\n---\n\n${withFewHeadings}`;
  }

  override getRenderContext(page: Page): MarkdownThemeContext {
    const context = new MarkdownThemeContext(this, page, this.application.options);
    const { getCommentParts } = context.helpers;
    const { comment, member } = context.partials;
    Object.assign(context.helpers, {
      getCommentParts: (parts: CommentDisplayPart[]) =>
        getCommentParts(parts.map((part) => withFile(withOrigin(part), page))),
    });
    Object.assign(context.partials, {
      comment: (model: Comment, options: object) =>
        comment(withErrors(model, page.project), { ...options, headingLevel: undefined }),
      pageTitle: () => (page.model.isProject() ? "API reference" : page.model.name),
      body: (model: ContainerReflection, options: { headingLevel: number }) =>
        model.isProject() ? modulesOf(context, model) : membersOf(context, model, options),
      member: (model: DeclarationReflection, options: { headingLevel: number }) =>
        paragraphs([alsoExported(model, page.project), member(model, options)]),
      constructor: ({ signatures = [] }: DeclarationReflection, options: { headingLevel: number }) =>
        paragraphs(signatures.map((signature) => context.partials.signature(signature, options))),
      signatureReturns: (signature: SignatureReflection) => parametersAndResult(context, signature),
      inheritance: () => "",
    });
    return context;
  }
}

/** Writes a table of all modules, each with what programs call. */
function modulesOf(context: MarkdownThemeContext, { children = [] }: ProjectReflection): string {
  const rows = children.map((module) => {
    const summary = context.helpers.getCommentParts(module.comment?.summary ?? []).replaceAll("\n", " ");
    const called = (module.children ?? []).filter(isCalled).map((symbol) => {
      const name = symbol.kind === ReflectionKind.Function ? `${symbol.name}()` : symbol.name;
      return `[\`${name}\`](${context.urlTo(symbol)})`;
    });
    return `| [${withoutScope(module)}](${context.urlTo(module)}) | ${summary} | ${called.join(", ")} |`;
  });
  const head = "Import each as `@holdfast/` and its name.\n";
  return [head, "| module | what it is | what programs call |", "| --- | --- | --- |", ...rows].join("\n");
}

/** Writes a section for each symbol of a module, or for each member of a symbol. */
function membersOf(
  context: MarkdownThemeContext,
  { children = [], groups = [] }: ContainerReflection,
  options: { headingLevel: number },
): string {
  const own = children.filter(({ kind }) => kind !== ReflectionKind.Reference);
  const references = groups.find((group) => group.children[0]?.kind === ReflectionKind.Reference);
  return paragraphs([
    context.partials.members(own, options),
    ...(references === undefined ? [] : ["## Exported again", context.partials.groupIndex(references)]),
  ]);
}

/** Returns a line with the other modules that export a symbol; nothing if there are none. */
function alsoExported(symbol: DeclarationReflection, project: ProjectReflection): string {
  const references = project.getReflectionsByKind(ReflectionKind.Reference) as ReferenceReflection[];
  const others = references.filter((reference) => reference.tryGetTargetReflectionDeep() === symbol);
  const list = others.map(({ parent }) => `\`${parent?.name}\``).join(", ");
  return list && `Also exported by ${list}.`;
}

function paragraphs(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/** Describes the parameters and the result of a function, whose types its signature shows. */
function parametersAndResult(context: MarkdownThemeContext, { parameters, comment }: SignatureReflection): string {
  const described = (parameters ?? []).filter((parameter) => parameter.comment?.hasVisibleComponent());
  const items = described.map((parameter) => {
    const text = context.helpers.getCommentParts(parameter.comment?.summary ?? []);
    const { name, defaultValue = "{}" } = parameter;
    return `- \`${name}\`: ${text}${defaultValue === "{}" ? "" : `; default: \`${defaultValue}\``}`;
  });
  const result = context.helpers.getCommentParts(comment?.getTag("@returns")?.content ?? []);
  return [
    ...(items.length > 0 ? ["**Parameters**", items.join("\n")] : []),
    ...(result === "" ? [] : ["**Returns**", result]),
  ].join("\n\n");
}

/** Returns the comment with one list of all errors instead of a block for each, and with links to their classes. */
function withErrors(comment: Comment, project: ProjectReflection): Comment {
  const errors = comment.getTags("@throws");
  if (errors.length === 0) return comment;
  const items = errors.flatMap(({ typeAnnotation = "", content }): CommentDisplayPart[] => {
    const names = namesIn(typeAnnotation).flatMap((name, index) => [
      ...(index > 0 ? [text(" or ")] : []),
      errorNamed(name, project),
    ]);
    return [text("\n- "), ...names, ...(names.length > 0 ? [text(": ")] : []), ...content];
  });
  const others = comment.blockTags.filter(({ tag }) => tag !== "@throws");
  const changed = comment.clone();
  changed.blockTags = [new CommentTag("@throws", items), ...others];
  return changed;
}

function namesIn(annotation: string): string[] {
  return annotation.match(/\w+/g) ?? [];
}

function errorNamed(name: string, project: ProjectReflection): CommentDisplayPart {
  const target = project.getReflectionsByKind(ReflectionKind.Class).find((known) => known.name === name);
  if (target === undefined) return { kind: "code", text: `\`${name}\`` };
  return { kind: "inline-tag", tag: "@linkcode", text: name, target };
}

/** Lets a link to a member lead to where it is declared: TypeDoc takes any interface that inherits it. */
function withOrigin(part: CommentDisplayPart): CommentDisplayPart {
  if (part.kind !== "inline-tag" || !(part.target instanceof DeclarationReflection)) return part;
  const origin = part.target.inheritedFrom?.reflection;
  return origin === undefined ? part : { ...part, target: origin };
}

/** Lets a link to a file lead to this file, instead of a copy in the reference. */
function withFile(part: CommentDisplayPart, { filename, project }: Page): CommentDisplayPart {
  if (part.kind !== "relative-link" || part.target === undefined) return part;
  const path = project.files.resolvePath(part.target);
  const anchor = part.targetAnchor === undefined ? "" : `#${part.targetAnchor}`;
  return path === undefined ? part : text(`${relative(dirname(filename), path)}${anchor}`);
}

function text(text: string): CommentDisplayPart {
  return { kind: "text", text };
}
