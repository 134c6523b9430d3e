/** How the pages of the API reference look, and where they are: one page for each module, and one for each symbol. */
import { dirname, relative } from "node:path";
import {
  type Comment,
  type CommentDisplayPart,
  CommentTag,
  DeclarationReflection,
  type PageDefinition,
  type ProjectReflection,
  type ReferenceReflection,
  type Reflection,
  ReflectionKind,
  type SignatureReflection,
} from "typedoc";
import { MarkdownTheme, MarkdownThemeContext, MemberRouter } from "typedoc-plugin-markdown";

/** Puts `Lock` of `@holdfast/core` at `core/Lock.md`, and the list of all symbols of this module at `core/index.md`. */
export class ReferenceRouter extends MemberRouter {
  override buildPages(project: ProjectReflection): PageDefinition[] {
    const pages = super.buildPages(project);
    // A symbol that a module exports again has its page where it belongs.
    for (const reference of project.getReflectionsByKind(ReflectionKind.Reference)) {
      const target = (reference as ReferenceReflection).tryGetTargetReflectionDeep();
      const url = target && this.fullUrls.get(target);
      this.anchors.delete(reference);
      if (url !== undefined) this.fullUrls.set(reference, url);
    }
    return pages;
  }

  override getIdealBaseName(reflection: Reflection): string {
    if (reflection.isProject()) return "index";
    if (reflection.kind === ReflectionKind.Module) return `${folderOf(reflection)}/index`;
    // On some file systems, the pages of `election` and `Election` would be one file.
    const isTaken = reflection.kind === ReflectionKind.Function && hasNamesake(reflection);
    return `${folderOf(reflection.parent)}/${reflection.name}${isTaken ? "-function" : ""}`;
  }
}

function folderOf(module: Reflection | undefined): string {
  return module?.name.replace(/^@[^/]+\//, "") ?? "";
}

function hasNamesake(symbol: Reflection): boolean {
  const name = symbol.name.toLowerCase();
  const siblings = symbol.parent?.isDeclaration() ? (symbol.parent.children ?? []) : [];
  return siblings.some((sibling) => sibling !== symbol && sibling.name.toLowerCase() === name);
}

type Page = ConstructorParameters<typeof MarkdownThemeContext>[1];

/** The theme of typedoc-plugin-markdown with fewer headings, because each heading is an entry of the site's search. */
export class ReferenceTheme extends MarkdownTheme {
  override render(page: Page): string {
    return super.render(page).replaceAll("\n***\n", "");
  }

  override getRenderContext(page: Page): MarkdownThemeContext {
    const context = new MarkdownThemeContext(this, page, this.application.options);
    const { getCommentParts } = context.helpers;
    const { comment } = context.partials;
    Object.assign(context.helpers, {
      getCommentParts: (parts: CommentDisplayPart[]) =>
        getCommentParts(parts.map((part) => withFile(withOrigin(part), page))),
    });
    Object.assign(context.partials, {
      comment: (model: Comment, options: object) =>
        comment(withErrors(model, page.project), { ...options, headingLevel: undefined }),
      pageTitle: () => titleOf(page.model),
      signatureReturns: (signature: SignatureReflection) => parametersAndResult(context, signature),
      inheritance: () => "",
    });
    return context;
  }
}

function titleOf(model: Reflection): string {
  if (model.isProject()) return "API reference";
  return model.kind === ReflectionKind.Function ? `${model.name}()` : model.name;
}

/** Returns the line that imports a symbol, for the top of its page, and the other modules that export it. */
export function importOf({ page: { model, project } }: MarkdownThemeContext): string {
  if (model.parent?.kind !== ReflectionKind.Module) return "";
  const isType = model.kindOf([ReflectionKind.Interface, ReflectionKind.TypeAlias]);
  const code = `import ${isType ? "type " : ""}{ ${model.name} } from "${model.parent.name}";`;
  const references = project.getReflectionsByKind(ReflectionKind.Reference) as ReferenceReflection[];
  const others = references.filter((reference) => reference.tryGetTargetReflectionDeep() === model);
  const list = others.map(({ parent }) => `\`${parent?.name}\``).join(", ");
  return `\`\`\`ts\n${code}\n\`\`\`${list && `\n\nAlso exported by ${list}.`}`;
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
