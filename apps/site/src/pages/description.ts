/** What search engines and links to a page say about it. */
import MarkdownIt from "markdown-it";

/** The most characters of a description: search engines show no more. */
const longestDescription = 160;

/** Returns the beginning of a page's first paragraph, as text; an empty string if it has none. */
export function descriptionOf(markdown: string): string {
  const tokens = new MarkdownIt().parse(markdown.replace(/^---\n[\s\S]*?\n---\n/, ""), {});
  const start = tokens.findIndex(({ type, level }) => type === "paragraph_open" && level === 0);
  const parts = tokens[start + 1]?.children ?? [];
  const text = parts.map(({ type, content }) => (type === "softbreak" ? " " : content)).join("");
  if (text.length <= longestDescription) return text;
  return `${text.slice(0, longestDescription - 1).replace(/\s+\S*$/, "")}…`;
}
