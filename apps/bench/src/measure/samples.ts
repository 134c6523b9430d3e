import { quantileOf } from "./statistics.ts";

const firstCapacity = 1 << 16;

/** Many numbers, outside of the JavaScript heap, so that they cause no garbage collection in the measured process. */
export class Samples {
  #values = new Float64Array(firstCapacity);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#count * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = value;
  }

  quantile(share: number): number {
    return quantileOf(this.#values.slice(0, this.#count).sort(), share);
  }
}
