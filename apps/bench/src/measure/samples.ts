import type { Spread } from "../process/calls.ts";
import { quantileOf } from "./statistics.ts";

const firstCapacity = 1 << 16;

/** Many numbers, kept outside of the JavaScript heap, so that keeping them does not count as work of what is measured. */
export class Samples {
  #values = new Float64Array(firstCapacity);
  #count = 0;

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#count * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = value;
  }

  /** In ascending order. */
  sorted(): Float64Array {
    return this.#values.slice(0, this.#count).sort();
  }

  spread(): Spread {
    const sorted = this.sorted();
    return { p50: quantileOf(sorted, 0.5), p99: quantileOf(sorted, 0.99) };
  }
}
