/** Replaces imports of the old libraries by imports of this package, which changes no other line. */
import { type Edit, type Left, leave, type Node, type Source } from "./source.ts";

/** An old library, as it is imported. */
export interface Library {
  /** The name of its package. */
  readonly name: string;
  /** The module of this package that has its API. */
  readonly module: string;
  /** What that module exports. */
  readonly exports: readonly string[];
  /** Whether `require` returns the class itself. */
  readonly isClass: boolean;
}

const redlock5Types = ["Client", "ExecutionResult", "ExecutionStats", "RedlockAbortSignal", "Settings"];
const redlock5 = ["ExecutionError", "Lock", "Redlock", "RedlockUsingContext", "ResourceLockedError", ...redlock5Types];
const semaphores = ["MultiSemaphore", "RedlockMultiSemaphore", "RedlockSemaphore", "Semaphore"];
const timeouts = ["LockLostCallback", "LockOptions", "LostLockError", "TimeoutError", "TimeoutOptions"];

const libraries: readonly Library[] = [
  { name: "redlock", module: "@holdfast/compat/redlock", exports: ["default", ...redlock5], isClass: false },
  {
    name: "redlock",
    module: "@holdfast/compat/redlock-4",
    exports: ["default", "Lock", "LockError", "Redlock"],
    isClass: true,
  },
  {
    name: "@sesamecare-oss/redlock",
    module: "@holdfast/compat/sesamecare-redlock",
    exports: redlock5,
    isClass: false,
  },
  {
    name: "redis-semaphore",
    module: "@holdfast/compat/redis-semaphore",
    exports: ["Mutex", "RedlockMutex", "defaultTimeoutOptions", ...semaphores, ...timeouts],
    isClass: false,
  },
];

/** The names of the packages. */
export const libraryNames: readonly string[] = [...new Set(libraries.map(({ name }) => name))];

/**
 * Returns the library that a package name stands for.
 *
 * @param redlockVersion the major version of `redlock` that the project depends on, if it is known
 */
function libraryOf(name: string, redlockVersion: number | undefined): Library | undefined {
  const [first, ...more] = libraries.filter((library) => library.name === name);
  if (more.length === 0) return first;
  return { 4: more[0], 5: first }[redlockVersion ?? 0];
}

/** What became of a file. */
export interface Changes {
  readonly edits: readonly Edit[];
  readonly left: readonly Left[];
}

/** Returns the edits that replace the imports of a file, and the places that a person has to look at. */
export function replaceImports(source: Source, redlockVersion: number | undefined): Changes {
  const edits: Edit[] = [];
  const left: Left[] = [];
  for (const found of importsIn(source)) {
    const { name, literal } = found;
    const library = libraryOf(name, redlockVersion);
    if (library === undefined) {
      left.push(leave(literal, "package.json does not tell whether this is redlock 4 or 5"));
      continue;
    }
    const reason = objection(source, found) ?? missingExport(found, library) ?? otherShape(found, library);
    if (reason !== undefined) {
      left.push(leave(literal, reason));
      continue;
    }
    if (library.isClass) edits.push(...requiredClass(found));
    edits.push({ start: literal.start + 1, end: literal.end - 1, text: library.module });
    left.push(...differencesOf(source, found, library));
  }
  if (edits.length > 0) left.push(...refusedCalls(source), ...refusedClients(source));
  return { edits, left: [...left, ...otherMentions(source)] };
}

/** An import of an old library, in any of its forms. */
interface Import {
  readonly how: "import" | "require" | "dynamic";
  readonly name: string;
  /** The string that names the module. */
  readonly literal: Node;
  /** The declaration or the call. */
  readonly node: Node;
  readonly around: readonly Node[];
}

/** Returns the imports of old libraries in a file. */
export function importsIn(source: Source): readonly Import[] {
  return source.nodes.flatMap(({ node, around }): Import[] => {
    const of = (how: Import["how"], literal: Node | undefined): Import[] =>
      literal?.type === "StringLiteral" && libraryNames.includes(literal.value)
        ? [{ how, name: literal.value, literal, node, around }]
        : [];
    if (/^(Import|ExportNamed|ExportAll)Declaration$/.test(node.type)) return of("import", node.source);
    if (node.type === "ImportExpression") return of("dynamic", node.source);
    if (node.type === "TSImportType") return of("dynamic", node.argument);
    if (node.type === "TSExternalModuleReference") return of("require", node.expression);
    if (node.type !== "CallExpression") return [];
    if (node.callee.type === "Import") return of("dynamic", node.arguments[0]);
    return node.callee.type === "Identifier" && node.callee.name === "require" ? of("require", node.arguments[0]) : [];
  });
}

/** Returns why an import is none that can be replaced, if so. */
function objection(source: Source, { how, node }: Import): string | undefined {
  if (how !== "require" || node.type !== "CallExpression") return undefined;
  const isOther = source.declarationsOf("require").some((declared) => {
    const declarator = source.nodes.find(({ node: each }) => each.id === declared)?.node;
    return declarator?.init?.callee?.name !== "createRequire";
  });
  return isOther ? "require is a name of this file" : undefined;
}

/** Returns the message about an imported name that the new module does not have, if there is one. */
function missingExport({ node, around }: Import, { module, exports }: Library): string | undefined {
  const [parent] = around;
  const names: string[] = (node.specifiers ?? []).map(({ type, imported, local }: Node) => {
    if (type === "ImportDefaultSpecifier") return "default";
    const name = type === "ImportSpecifier" ? imported : type === "ExportSpecifier" ? local : undefined;
    return name?.name ?? name?.value ?? exports[0];
  });
  if (parent?.type === "VariableDeclarator" && parent.id.type === "ObjectPattern") {
    for (const { key } of parent.id.properties) names.push(key?.name ?? exports[0]);
  }
  const missing = names.find((name) => !exports.includes(name));
  return missing === undefined ? undefined : `${module} has no export ${missing}`;
}

/** Returns the message about an import of `redlock` 4 that takes the module for the class, if it does. */
function otherShape(found: Import, { isClass, module }: Library): string | undefined {
  const { how, node, around } = found;
  const [parent] = around;
  const isNamespace = (node.specifiers ?? []).some(({ type }: Node) => type === "ImportNamespaceSpecifier");
  const isProperty = parent?.type === "MemberExpression" && ["Lock", "LockError"].includes(parent.property.name);
  const isTaken = isProperty || (parent?.type === "VariableDeclarator" && parent.id.type === "ObjectPattern");
  const isOther = how === "import" ? isNamespace : how === "require" && !isTaken && requiredClass(found).length === 0;
  return isClass && isOther ? `the class is now the export Redlock of ${module}` : undefined;
}

/** Returns the edit that takes the class out of the module, for `const Name = require("redlock")`. */
function requiredClass({ how, around: [parent] }: Import): readonly Edit[] {
  if (how !== "require" || parent?.type !== "VariableDeclarator" || parent.id.type !== "Identifier") return [];
  const { name, start, typeAnnotation } = parent.id;
  if (typeAnnotation) return [];
  return [{ start, end: start + name.length, text: name === "Redlock" ? "{ Redlock }" : `{ Redlock: ${name} }` }];
}

/** Returns the uses of an import that the new module refuses when they run. */
function differencesOf(source: Source, { node, around }: Import, { name }: Library): readonly Left[] {
  const locals = localsOf(node, around);
  const created = source
    .ofType("NewExpression")
    .filter(({ node: { callee } }) => callee.type === "Identifier" && locals.has(callee.name));
  return created.flatMap(({ node: creation }) => {
    const { callee, arguments: given } = creation;
    const imported = locals.get(callee.name) as string;
    const reasons = optionsOf(given)
      .filter((option) => refused.includes(option))
      .map((option) => `the option ${option} is not supported`);
    if (semaphores.includes(imported)) {
      reasons.push(
        "permits of redis-semaphore are not counted: pass replacesRedisSemaphore: true once no process uses it",
      );
    }
    if (imported === "Lock") reasons.push("a lock that is made from a value cannot be extended or released");
    else if (name === "redlock" && given.length > 2) reasons.push("custom scripts are not supported");
    return reasons.map((reason) => leave(creation, reason));
  });
}

/** The options that have no counterpart. */
const refused = [
  ...["lockScript", "unlockScript", "extendScript"],
  ...["identifier", "identifierSuffix", "acquiredExternally", "externallyAcquiredIdentifier"],
];

function optionsOf(given: readonly Node[]): readonly string[] {
  const objects = given.filter(({ type }) => type === "ObjectExpression");
  return objects.flatMap(({ properties }) => properties.map(({ key }: Node) => key?.name ?? ""));
}

/** The methods of which `redlock` 4 takes a callback. */
const nodeStyle = /^(quit|unlock|release|extend|(lock|acquire)(WithOptions)?)$/;
/** How many arguments these take, without settings. */
const arities: Readonly<Record<string, number>> = { release: 1, extend: 2 };

/** Returns the calls of methods that the new classes do not have, or with arguments that they refuse. */
function refusedCalls(source: Source): readonly Left[] {
  return source.ofType("CallExpression").flatMap(({ node }): Left[] => {
    const { callee, arguments: given } = node;
    const method: string = callee.property?.name ?? "";
    if (method === "disposer") return [leave(node, "disposer() is not supported: lock and unlock")];
    const isCallback = /FunctionExpression$/.test(given.at(-1)?.type ?? "");
    if (isCallback && nodeStyle.test(method)) return [leave(node, "callbacks are not supported: use the promise")];
    const hasSettings = given.length > (arities[method] ?? Infinity);
    return hasSettings ? [leave(node, `${method}() takes no settings: it does not count retries`)] : [];
  });
}

/** Returns the clients that the new constructors refuse. */
function refusedClients(source: Source): readonly Left[] {
  const others = source.ofType("StringLiteral").filter(({ node, around: [parent] }) => {
    return node.value === "redis" && isModuleName(parent, node);
  });
  const prefixes = source.ofType("ObjectProperty").filter(({ node }) => node.key.name === "keyPrefix");
  const prefixed = "a client with a keyPrefix is refused: use one without it, and the option keyPrefix";
  return [
    ...others.map(({ node }) => leave(node, "clients of redis are refused: use ioredis")),
    ...prefixes.map(({ node }) => leave(node, prefixed)),
  ];
}

/** Returns the local names of an import, each with the name that the module exports it by. */
export function localsOf(node: Node, [parent]: readonly Node[]): ReadonlyMap<string, string> {
  const specifiers: readonly Node[] = node.type === "ImportDeclaration" ? node.specifiers : [];
  const imported = specifiers.map(({ local, imported: from }): [string, string] => [
    local.name,
    from?.name ?? "default",
  ]);
  if (parent?.type !== "VariableDeclarator") return new Map(imported);
  if (parent.id.type === "Identifier") return new Map([[parent.id.name, "default"]]);
  const properties: readonly Node[] = parent.id.properties ?? [];
  return new Map(properties.map(({ key, value }) => [value?.name ?? "", key?.name ?? ""]));
}

/** Returns the places that name an old library, and are no import: mocks, `require.resolve`, module declarations. */
function otherMentions(source: Source): readonly Left[] {
  const mentions = source.ofType("StringLiteral").filter(({ node, around: [parent] }) => {
    const [, scope = node.value] = /^((?:@[^/]+\/)?[^/]+)/.exec(node.value) ?? [];
    if (!libraryNames.includes(scope)) return false;
    const isSubpath = scope !== node.value && isModuleName(parent, node);
    const isOther = parent?.type === "TSModuleDeclaration" || isArgumentOfMethod(parent, node);
    return isSubpath || isOther;
  });
  return mentions.map(({ node }) => leave(node, `this names ${node.value}, and is no import`));
}

function isModuleName(parent: Node | undefined, node: Node): boolean {
  if (parent?.source === node) return true;
  return parent?.type === "CallExpression" && (parent.callee.type === "Import" || parent.callee.name === "require");
}

function isArgumentOfMethod(parent: Node | undefined, node: Node): boolean {
  if (parent?.type !== "CallExpression" || parent.arguments[0] !== node) return false;
  const { object } = parent.callee;
  return ["jest", "vi", "require", "proxyquire"].includes(object?.name) || object?.type === "MetaProperty";
}
