const names = ["storm:a", "storm:b", "storm:c", "storm:d", "storm:e"];

/** Returns one to three of five resources, in any order. */
export function someResources(): string[] {
  const count = 1 + Math.floor(Math.random() * 3);
  return [...names].sort(() => Math.random() - 0.5).slice(0, count);
}
