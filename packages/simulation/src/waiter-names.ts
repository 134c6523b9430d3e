/**
 * What waiters are called. A core draws the name by which nodes know it at random, and nodes may put those who wait in order
 * by their names; but a seed must always lead to the same. So nodes get to know a waiter by the name of its client.
 */
export class WaiterNames {
  readonly #names = new Map<string, string>();
  readonly #waiters = new Map<string, string>();

  /** The name of a client's waiter. A client that has more than one gives the others a number. */
  nameOf(waiter: string, client: string): string {
    const known = this.#names.get(waiter);
    if (known !== undefined) return known;
    let name = client;
    for (let number = 2; this.#waiters.has(name); number++) name = `${client} as waiter ${number}`;
    this.#names.set(waiter, name);
    this.#waiters.set(name, waiter);
    return name;
  }

  /** The waiter of that name, or what a node has said instead of one. */
  waiterOf(name: string): string {
    return this.#waiters.get(name) ?? name;
  }
}
