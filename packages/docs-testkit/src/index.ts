export { followGuide, type GuideStep, guideSteps, type Outcome, type PlacedStep } from "./guide.ts";
export { type ReadmeExample, readmeExamples, runExample } from "./readme.ts";
