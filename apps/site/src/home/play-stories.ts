import type { MarkdownRenderer } from "vitepress";
import { pictureAt } from "../charts/pictures.ts";

/** A plugin of markdown-it: plays a story where a page shows the playground as a picture. */
export function playStories(md: MarkdownRenderer): void {
  md.core.ruler.push("play_stories", ({ tokens, Token }) => {
    for (const index of tokens.keys()) {
      if (pictureAt(tokens, index) !== "./playground.md") continue;
      const story = new Token("html_block", "", 0);
      story.content = "<LiveStory />\n";
      tokens.splice(index, 3, story);
    }
  });
}
