/** The order in which the reference lists modules and symbols: what programs call comes first. */
import { type Reflection, ReflectionKind } from "typedoc";

/** Compares two values by a number. */
export function by<T>(rank: (one: T) => number): (one: T, other: T) => number {
  return (one, other) => rank(one) - rank(other);
}

/** Whether a symbol is a class or a value that programs use by its name. */
export function isCalled(symbol: Reflection): boolean {
  return distanceFromUsers(symbol) <= 1;
}

/** Ranks what programs call first, then errors, the types of both, and what only observers and nodes exchange. */
export function distanceFromUsers({ name, kind }: Reflection): number {
  if (/(Event|Hints|Request|Reply)$/.test(name)) return 4;
  if (kind === ReflectionKind.Class) return name.endsWith("Error") ? 2 : 0;
  if (kind === ReflectionKind.Function || kind === ReflectionKind.Variable) return 1;
  return 3;
}

/** Ranks modules of programs before those of authors of adapters. */
export function distanceFromPrograms({ name }: Reflection): number {
  return /^@holdfast\/(core\/node|redis|conformance.*|simulation)$/.test(name) ? 1 : 0;
}
