/** The playground, and its first story for other pages: one file to load for both. */

export { default as LiveStory } from "../home/live-story.tsx";
export { default as Playground } from "./playground.tsx";
