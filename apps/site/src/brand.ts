/** The mark of Holdfast: a padlock whose body is a fence. */

/** Draws the mark in a square of 32 units. */
export function mark(color: string): string {
  return (
    `<path fill="none" stroke="${color}" stroke-width="3" stroke-linecap="round" d="M10 14v-4a6 6 0 0 1 12 0v4"/>` +
    `<path fill="${color}" d="M5 29V16l2.5-3 2.5 3v13zm6 0V16l2.5-3 2.5 3v13zm6 0V16l2.5-3 2.5 3v13zm6 0V16l2.5-3 2.5 3v13zM4 19h24v2.5H4z"/>`
  );
}

/** The mark as the address of a picture. Its colour is readable on light and on dark pages. */
export const logo: string = `data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${mark("#5672cd")}</svg>`,
)}`;
