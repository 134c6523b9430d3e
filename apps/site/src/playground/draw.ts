/** What only seeds need, in a file of its own so that it is loaded for them alone. */

export { drawScenario } from "@holdfast/simulation";
