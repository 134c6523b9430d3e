/**
 * Replaces calls of the old libraries by calls of Holdfast's own API, in the plain cases that the migration guides show. A
 * file is rewritten as a whole or not at all, because its locks go from one call to the next.
 */
import { type Changes, importsIn, localsOf } from "./imports.ts";
import { type Edit, type Found, type Left, leave, type Node, type Source } from "./source.ts";

/** A use that the plain cases do not cover. */
class Unsure extends Error {
  readonly left: Left;

  constructor(node: Node, reason: string) {
    super(reason);
    this.left = leave(node, reason);
  }
}

/** Returns the edits that move a file to Holdfast's API, or the reason why it stays as it is. */
export function replaceCalls(source: Source): Changes {
  const imports = importsIn(source);
  if (imports.length === 0) return { edits: [], left: [] };
  const [found, second] = imports;
  try {
    if (second !== undefined) throw new Unsure(second.node, "this file imports old libraries twice");
    if (found === undefined || found.node.type !== "ImportDeclaration") {
      throw new Unsure(found?.node as Node, "only import declarations are moved");
    }
    if (found.name === "@sesamecare-oss/redlock") {
      throw new Unsure(
        found.node,
        "its locks are in the database db, whatever that of the clients: move without --api",
      );
    }
    return { edits: new Rewriter(source, found.node).edits(), left: [] };
  } catch (error) {
    if (!(error instanceof Unsure)) throw error;
    return { edits: [], left: [error.left] };
  }
}

/** Rewrites one file. */
class Rewriter {
  readonly #source: Source;
  readonly #import: Node;
  readonly #edits: Edit[] = [];

  constructor(source: Source, declaration: Node) {
    this.#source = source;
    this.#import = declaration;
  }

  /** @throws {Unsure} at the first use that no plain case covers */
  edits(): readonly Edit[] {
    const locals = [...localsOf(this.#import, [])];
    const [[local, imported] = ["", ""], ...others] = locals;
    if (others.length > 0) throw new Unsure(this.#import, `${others[0]?.[0]} has no counterpart that fits everywhere`);
    const isMutex = ["Mutex", "RedlockMutex"].includes(imported);
    if (!isMutex && !["default", "Redlock"].includes(imported)) {
      throw new Unsure(this.#import, `${imported} has no counterpart that fits everywhere`);
    }
    this.#assertErrorsUnread();
    this.#assertUnused("ioredisNode");
    if (local !== "Redlock") this.#assertUnused("Redlock");
    this.#replace(
      this.#import,
      'import { Redlock } from "@holdfast/core";\nimport { ioredisNode } from "@holdfast/ioredis";',
    );
    this.#assertOnce(local);
    for (const use of this.#source.usesOf(local)) {
      const declarator = this.#creationOf(use);
      if (isMutex) this.#mutex(declarator, imported);
      else this.#redlock(declarator);
    }
    return this.#edits;
  }

  /** Returns the declaration `const name = new Local(…)` around a use of the class. */
  #creationOf({ node, around: [creation, declarator, declaration, outer] }: Found): Node {
    const isCreation = creation?.type === "NewExpression" && creation.callee === node && !creation.typeParameters;
    const isConstant = declaration?.kind === "const" && declarator?.id?.type === "Identifier";
    if (!isCreation || !isConstant || declarator?.id.typeAnnotation) {
      throw new Unsure(node, `only a const that is created by new ${node.name}(…) is moved`);
    }
    if (outer?.type.startsWith("Export")) throw new Unsure(node, "other files use what this one exports");
    if (outer?.type !== "Program") throw new Unsure(node, "each call of this function would open a connection");
    this.#assertOnce(declarator?.id.name);
    return declarator as Node;
  }

  #redlock({ id, init }: Node): void {
    const [clients, settings, scripts] = init.arguments;
    if (scripts !== undefined) throw new Unsure(scripts, "custom scripts are not supported");
    if (clients?.type !== "Identifier" && clients?.type !== "ArrayExpression") {
      throw new Unsure(init, "the clients are no variable and no array");
    }
    const given = this.#numbersOf(settings, ["retryCount", "retryDelay", "driftFactor"]);
    const { retryCount = 10, retryDelay = 200, driftFactor } = given;
    const waitTimeoutMs = retryCount === -1 ? "Infinity" : grouped(retryCount * retryDelay);
    const options = [
      `waitTimeoutMs: ${waitTimeoutMs}`,
      ...(driftFactor === undefined ? [] : [`driftFactor: ${driftFactor}`]),
    ];
    const text = this.#source.textOf(clients);
    const array = this.#isArray(clients) ? text : `[...${text}]`; // any iterable will do for redlock 5
    this.#replace(init, `new Redlock(${nodesOver(array, "")}, { ${options.join(", ")} })`);
    for (const use of this.#source.usesOf(id.name)) this.#redlockCall(use, clients);
  }

  /** Rewrites a call of a `Redlock`'s method. */
  #redlockCall(use: Found, clients: Node): void {
    const { call, method } = this.#callOf(use);
    const given: readonly Node[] = call.arguments;
    switch (method.name) {
      case "lock":
      case "acquire":
        if (given.length !== 2) throw new Unsure(call, "settings of a call have no counterpart that fits everywhere");
        this.#replace(method, "acquire");
        this.#replaceDuration(given[1] as Node);
        this.#held(call, use.around.slice(2));
        break;
      case "using":
        this.#using(call);
        break;
      case "quit":
        this.#quit(call, method, use.around.slice(2), clients);
        break;
      default:
        throw new Unsure(call, `${method.name}() has no counterpart that fits everywhere`);
    }
  }

  /** Rewrites the uses of `const lock = await …`. */
  #held(call: Node, [awaiting, declarator]: readonly Node[]): void {
    const isHeld = awaiting?.type === "AwaitExpression" && declarator?.type === "VariableDeclarator";
    if (!isHeld || declarator.id.type !== "Identifier" || declarator.id.typeAnnotation) {
      throw new Unsure(call, "only a lock that is awaited into a variable is moved");
    }
    this.#assertOnce(declarator.id.name);
    const uses = this.#source.usesOf(declarator.id.name);
    this.#assertNeverShorter(call.arguments[1], uses);
    for (const use of uses) {
      const [parent, outer] = use.around;
      if (parent?.type === "AssignmentExpression" && parent.left === use.node) {
        const { object, property } = parent.right.argument?.callee ?? {};
        const isExtension = property?.name === "extend" && object.name === use.node.name;
        if (!isExtension || outer?.type !== "ExpressionStatement") throw new Unsure(parent, "this replaces a lock");
        this.#edits.push({ start: parent.start, end: parent.right.start, text: "" });
      } else if (parent?.type === "MemberExpression" && parent.property.name === "value" && !parent.computed) {
        this.#replace(parent.property, "owner");
      } else this.#lockCall(use);
    }
  }

  /** Core leaves a lock as it is that an extension would shorten. */
  #assertNeverShorter(duration: Node, uses: readonly Found[]): void {
    const extensions = uses.flatMap(({ around: [member, call] }): Node[] => {
      return member?.property?.name === "extend" && call?.arguments?.length === 1 ? call.arguments : [];
    });
    const [first] = extensions;
    for (const extension of extensions) {
      const isSame = this.#source.textOf(extension) === this.#source.textOf(duration);
      const isLonger = (numberOf(extension) ?? 0) >= (numberOf(duration) ?? Infinity);
      const isLikeOthers = this.#source.textOf(extension) === this.#source.textOf(first as Node);
      if (!isLikeOthers || !(isSame || isLonger)) throw new Unsure(extension, "this may shorten the lock");
    }
  }

  #lockCall(use: Found): void {
    const { call, method } = this.#callOf(use);
    if (method.name === "extend" && call.arguments.length === 1) {
      this.#assertResultUnused(call, use.around.slice(2));
      this.#replaceDuration(call.arguments[0]);
    } else if (["unlock", "release"].includes(method.name) && call.arguments.length === 0) {
      this.#assertResultUnused(call, use.around.slice(2));
      this.#replace(method, "release");
    } else throw new Unsure(call, `${method.name}() has no counterpart that fits everywhere`);
  }

  #using(call: Node): void {
    const [, duration, routine, extra] = call.arguments as Node[];
    if (duration === undefined || extra !== undefined) throw new Unsure(call, "settings of a call have no counterpart");
    this.#replaceDuration(duration);
    if (!/^(ArrowFunction|Function)Expression$/.test(routine?.type ?? "")) {
      throw new Unsure(call, "the routine is not written here: it gets a lock instead of a signal");
    }
    const [signal, context] = (routine as Node).params as Node[];
    if (context !== undefined) throw new Unsure(context, "the context of a routine has no counterpart");
    if (signal === undefined) return;
    if (signal.type !== "Identifier" || signal.typeAnnotation)
      throw new Unsure(signal, "this parameter is no plain name");
    this.#assertOnce(signal.name);
    const pattern = signal.name === "signal" ? "{ signal }" : `{ signal: ${signal.name} }`;
    this.#replace(signal, this.#isInParentheses(signal) ? pattern : `(${pattern})`);
    for (const { node, around } of this.#source.usesOf(signal.name)) {
      const [parent] = around;
      const isMember = parent?.type === "MemberExpression" && parent.object === node && !parent.computed;
      const isOption = parent?.type === "ObjectProperty" && parent.key.name === "signal";
      if (!isMember && !isOption) throw new Unsure(node, "the signal is passed on, and its error is now its reason");
      if (isMember && parent.property.name === "error") this.#replace(parent.property, "reason");
    }
  }

  #quit(call: Node, method: Node, [awaiting, statement]: readonly Node[], clients: Node): void {
    const isPlain = awaiting?.type === "AwaitExpression" && statement?.type === "ExpressionStatement";
    if (!isPlain || clients.type !== "Identifier") throw new Unsure(call, "quit() also closes the clients");
    this.#replace(method, "close");
    const text = `\n${this.#indentOf(statement)}for (const client of ${clients.name}) client.disconnect();`;
    this.#edits.push({ start: statement.end, end: statement.end, text });
  }

  #mutex({ id, init }: Node, imported: string): void {
    const [client, key, options] = init.arguments;
    if (client?.type !== "Identifier") throw new Unsure(init, "the client is no variable");
    if (key?.type !== "StringLiteral") throw new Unsure(init, "the key is no literal");
    const parts = this.#mutexOptions(init, options);
    const text = imported === "Mutex" ? nodeOver(client.name, "mutex:") : nodesOver(client.name, "mutex:");
    const nodes = imported === "Mutex" ? `[${text}]` : text;
    this.#replace(init, `new Redlock(${nodes}, { ${parts.join(", ")} })`);
    const lock = `${id.name}Lock`;
    this.#assertUnused(lock);
    const uses = this.#source.usesOf(id.name).map((use) => ({ use, ...this.#callOf(use) }));
    const [first, ...others] = uses;
    if (first?.method.name !== "acquire") throw new Unsure(init, "the first use of the mutex is not acquire()");
    const [, , awaiting, statement, block] = first.use.around;
    const isPlain = awaiting?.type === "AwaitExpression" && statement?.type === "ExpressionStatement";
    if (!isPlain || first.call.arguments.length > 0) throw new Unsure(first.call, "this is no plain acquire()");
    this.#replace(statement, `const ${lock} = await ${id.name}.acquire(${this.#source.textOf(key)});`);
    for (const { use, call, method } of others) {
      if (method.name !== "release" || !use.around.includes(block as Node)) {
        throw new Unsure(call, `${method.name}() has no counterpart that fits everywhere`);
      }
      this.#replace(use.node, lock);
    }
  }

  /** Returns the options of a `Redlock` for those of a mutex. */
  #mutexOptions(init: Node, options: Node | undefined): readonly string[] {
    const properties: readonly Node[] = options?.type === "ObjectExpression" ? options.properties : [];
    const lost = properties.find(({ key }) => key?.name === "onLockLost");
    const [parameter, ...more] = lost?.value?.params ?? [];
    const isPlain =
      lost?.value?.type === "ArrowFunctionExpression" && parameter?.type === "Identifier" && more.length === 0;
    if (!isPlain || parameter.typeAnnotation) {
      throw new Unsure(init, "onLockLost is not written here: without it, a lost lock ends the process");
    }
    const names = ["lockTimeout", "acquireTimeout"];
    const { lockTimeout, acquireTimeout } = this.#numbersOf(options, names, ["onLockLost"]);
    const pattern = parameter.name === "error" ? "{ error }" : `{ error: ${parameter.name} }`;
    const { code } = this.#source;
    const arrow = code.slice(code.indexOf("=>", parameter.end), lost.value.end);
    const callback = `${lost.value.async ? "async " : ""}(${pattern}) ${arrow}`;
    return [
      ...(lockTimeout === undefined ? [] : [`ttlMs: ${grouped(lockTimeout)}`]),
      ...(acquireTimeout === undefined ? [] : [`waitTimeoutMs: ${grouped(acquireTimeout)}`]),
      "autoExtend: true",
      `observer: { lost: ${callback} }`,
    ];
  }

  /** Returns the call `name.method(…)` around a use of a variable. */
  #callOf({ node, around: [member, call] }: Found): { readonly call: Node; readonly method: Node } {
    const isCall = member?.type === "MemberExpression" && member.object === node && !member.computed;
    if (!isCall || call?.type !== "CallExpression" || call.callee !== member) {
      throw new Unsure(node, `${node.name} is used other than by calling its methods`);
    }
    return { call, method: member.property };
  }

  /** Returns the literal numbers of an object, which has no other properties than these. */
  #numbersOf(
    object: Node | undefined,
    names: readonly string[],
    others: readonly string[] = [],
  ): Record<string, number> {
    if (object === undefined) return {};
    if (object.type !== "ObjectExpression") throw new Unsure(object, "the settings are not written here");
    const entries = (object.properties as Node[]).flatMap((property): [string, number][] => {
      const name: string = property.key?.name ?? "";
      if (others.includes(name)) return [];
      const value = numberOf(property.value);
      if (!names.includes(name) || value === undefined) {
        throw new Unsure(property, `${name || "this setting"} has no counterpart that fits everywhere`);
      }
      return [[name, value]];
    });
    return Object.fromEntries(entries);
  }

  #replaceDuration(duration: Node): void {
    this.#edits.push({ start: duration.start, end: duration.start, text: "{ ttlMs: " });
    this.#edits.push({ start: duration.end, end: duration.end, text: " }" });
  }

  #replace(node: Node, text: string): void {
    const { start, end } = node;
    const comment = this.#source.comments.find((each) => each.start >= start && each.end <= end);
    if (comment !== undefined && !text.includes(this.#source.textOf(comment))) {
      throw new Unsure(node, "a comment would be lost");
    }
    this.#edits.push({ start, end, text });
  }

  /** Whether an expression is an array for sure, rather than another iterable. */
  #isArray(clients: Node): boolean {
    if (clients.type === "ArrayExpression") return true;
    const [declared, second] = this.#source.declarationsOf(clients.name);
    const init = this.#source.ofType("VariableDeclarator").find(({ node }) => node.id === declared)?.node.init;
    return second === undefined && (init?.type === "ArrayExpression" || init?.callee?.property?.name === "map");
  }

  #assertResultUnused(call: Node, [awaiting, outer]: readonly Node[]): void {
    const isReplacement = outer?.type === "AssignmentExpression" && outer.left.name === call.callee.object.name;
    const isUnused = awaiting?.type === "AwaitExpression" && (outer?.type === "ExpressionStatement" || isReplacement);
    if (!isUnused) throw new Unsure(call, "the result of this call is used");
  }

  /** @throws {Unsure} where the file tells the errors of the old library apart, as those of core are others */
  #assertErrorsUnread(): void {
    for (const { node } of this.#source.ofType("StringLiteral")) {
      if (errorNames.includes(node.value)) throw new Unsure(node, `${node.value} has another name in core`);
    }
    const caught = this.#source.nodes.flatMap(({ node }): Node[] => {
      if (node.type === "CatchClause") return node.param ? [node.param] : [];
      const isCatch = node.type === "CallExpression" && ["catch", "then"].includes(node.callee.property?.name);
      const [handler] = isCatch ? node.arguments.slice(-1) : [];
      return handler?.params?.slice(0, 1) ?? [];
    });
    for (const parameter of caught) {
      if (parameter.type === "ObjectPattern") throw new Unsure(parameter, "this reads an error, and core has others");
      for (const { node, around } of this.#source.usesOf(parameter.name)) {
        const field: string = around[0]?.property?.name ?? "";
        if (errorFields.includes(field)) throw new Unsure(node, `core has errors with another ${field}`);
      }
    }
  }

  #assertUnused(name: string): void {
    const [declared] = this.#source.declarationsOf(name);
    if (declared !== undefined) throw new Unsure(declared, `the name ${name} is taken`);
  }

  #assertOnce(name: string): void {
    const [, second] = this.#source.declarationsOf(name);
    if (second !== undefined) throw new Unsure(second, `${name} is declared more than once`);
  }

  #isInParentheses({ start, end }: Node): boolean {
    const { code } = this.#source;
    return /\(\s*$/.test(code.slice(0, start)) && /^\s*,?\s*\)/.test(code.slice(end));
  }

  #indentOf({ start }: Node): string {
    const { code } = this.#source;
    return /[ \t]*$/.exec(code.slice(0, start))?.[0] ?? "";
  }
}

/** The names and fields by which programs tell errors of the old libraries apart. */
const errorNames = ["ExecutionError", "LockError", "LostLockError", "ResourceLockedError", "TimeoutError"];
const errorFields = ["attempts", "message", "name"];

function nodesOver(clients: string, prefix: string): string {
  return `${clients}.map((client) => ${nodeOver("client", prefix)})`;
}

function nodeOver(client: string, prefix: string): string {
  return `ioredisNode(${client}, { prefix: ${JSON.stringify(prefix)} })`;
}

function numberOf(value: Node | undefined): number | undefined {
  if (value?.type === "NumericLiteral") return value.value;
  if (value?.type !== "UnaryExpression" || value.operator !== "-") return undefined;
  const positive = numberOf(value.argument);
  return positive === undefined ? undefined : -positive;
}

/** Writes a number as this project does: 10_000. */
function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, "_");
}
