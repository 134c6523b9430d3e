export { type ExampleServer, examplePorts, startExampleServer } from "./example-servers.ts";
export { followGuide, guideSteps, type Outcome } from "./guide.ts";
export { readmeExamples, runExample } from "./readme.ts";
