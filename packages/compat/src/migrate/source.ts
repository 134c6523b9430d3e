/** A source file: its syntax tree, the names that it declares, and edits of its text. */
import { type ParserPlugin, parse } from "@babel/parser";

/** A node of the syntax tree, as `@babel/parser` returns it. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly loc: { readonly start: { readonly line: number } };
  // biome-ignore lint/suspicious/noExplicitAny: the fields depend on the type, which callers check first
  readonly [field: string]: any;
}

/** The replacement of a piece of text. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A place that a person has to look at. */
export interface Left {
  readonly line: number;
  readonly reason: string;
}

/** Returns a node as a place that a person has to look at. */
export function leave({ loc }: Node, reason: string): Left {
  return { line: loc.start.line, reason };
}

/** A node and the nodes around it, from the inside out. */
export interface Found {
  readonly node: Node;
  readonly around: readonly Node[];
}

/** A parsed source file. */
export class Source {
  readonly code: string;
  /** All nodes, in the order of the text. */
  readonly nodes: readonly Found[];
  /** All comments. */
  readonly comments: readonly Pick<Node, "start" | "end">[];
  /** The identifiers that declare a name, by name. */
  readonly #declared = new Map<string, Node[]>();

  /**
   * @param code the text of the file
   * @param path decides on the syntax: TypeScript, JSX, or both
   * @throws {SyntaxError} if the text cannot be parsed
   */
  constructor(code: string, path: string) {
    this.code = code;
    const isTypeScript = /\.[cm]?tsx?$/.test(path);
    const plugins: ParserPlugin[] = ["decorators-legacy"]; // those of parameters, too
    if (isTypeScript) plugins.push("typescript");
    if (!/\.[cm]?ts$/.test(path)) plugins.push("jsx");
    const { program, comments } = parse(code, {
      sourceType: "unambiguous",
      allowReturnOutsideFunction: true,
      allowAwaitOutsideFunction: true,
      plugins,
    });
    const nodes: Found[] = [];
    collect(program as unknown as Node, [], nodes);
    this.nodes = nodes;
    this.comments = (comments ?? []) as unknown as readonly Node[];
    for (const { node } of nodes) for (const pattern of patternsOf(node)) this.#declare(pattern);
  }

  /** Returns the nodes of these types. */
  ofType(...types: readonly string[]): readonly Found[] {
    return this.nodes.filter(({ node }) => types.includes(node.type));
  }

  /** Returns the text of a node. */
  textOf({ start, end }: Pick<Node, "start" | "end">): string {
    return this.code.slice(start, end);
  }

  /** Returns where a name is declared. */
  declarationsOf(name: string): readonly Node[] {
    return this.#declared.get(name) ?? [];
  }

  /** Returns where a name is used, other than by its declarations. */
  usesOf(name: string): readonly Found[] {
    const declarations = this.declarationsOf(name);
    return this.nodes.filter(({ node, around: [parent] }) => {
      if (node.name !== name || !/^(JSX)?Identifier$/.test(node.type) || declarations.includes(node)) return false;
      const isKey = parent?.key === node && !parent.computed && !(parent.shorthand && parent.value === node);
      const isProperty = parent?.property === node && !parent.computed;
      return !isKey && !isProperty && parent?.imported !== node && parent?.exported !== node;
    });
  }

  #declare(pattern: Node): void {
    if (pattern.type === "Identifier") {
      this.#declared.set(pattern.name, [...this.declarationsOf(pattern.name), pattern]);
      return;
    }
    for (const part of partsOf(pattern)) if (part) this.#declare(part);
  }
}

/** Returns the parts of a pattern that is more than a name. */
function partsOf(pattern: Node): readonly (Node | null)[] {
  if (pattern.type === "ObjectPattern") return pattern.properties.map(({ value, argument }: Node) => value ?? argument);
  if (pattern.type === "ArrayPattern") return pattern.elements;
  const { left, argument, parameter } = pattern; // of an AssignmentPattern, a RestElement, a TSParameterProperty
  return [left ?? argument ?? parameter ?? null];
}

function collect(node: Node, around: readonly Node[], into: Found[]): void {
  into.push({ node, around });
  const inner = [node, ...around];
  for (const [field, value] of Object.entries(node)) {
    if (field === "loc" || field.endsWith("Comments")) continue;
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type === "string") collect(child, inner, into);
    }
  }
}

/** Returns the patterns by which a node declares names. */
function patternsOf(node: Node): readonly Node[] {
  const { type } = node;
  const own = /^(VariableDeclarator|(Function|Class|TSEnum|TSModule)(Declaration|Expression))$/.test(type);
  const imports = /^(Import\w*Specifier|TSImportEqualsDeclaration)$/.test(type);
  const patterns = [
    ...(own || type === "TSImportEqualsDeclaration" ? [node.id] : []),
    ...(imports ? [node.local] : []),
    ...(node.params && !type.startsWith("TS") ? node.params : []),
    ...(type === "CatchClause" ? [node.param] : []),
  ];
  return patterns.filter((pattern) => pattern?.type !== undefined);
}

/** Returns a text with its edits made, which do not overlap. */
export function applyEdits(code: string, edits: readonly Edit[]): string {
  return edits.toSorted((a, b) => b.start - a.start).reduce((text, edit) => replaced(text, edit), code);
}

function replaced(code: string, { start, end, text }: Edit): string {
  return code.slice(0, start) + text + code.slice(end);
}
