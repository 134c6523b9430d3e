import type { MarkdownRenderer } from "vitepress";

type Token = ReturnType<MarkdownRenderer["parse"]>[number];

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

/** Returns the address of the picture that a paragraph consists of; undefined if it is not a picture. */
function pictureAt(tokens: readonly Token[], index: number): string | undefined {
  const [start, content] = [tokens[index], tokens[index + 1]];
  const [image, ...others] = content?.children ?? [];
  if (start?.type !== "paragraph_open" || image?.type !== "image" || others.length > 0) return undefined;
  return image.attrGet("src") ?? undefined;
}
