/** Returns the names of nodes or clients: `n1`, `n2`, … */
export function names(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);
}
