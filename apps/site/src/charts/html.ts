/** The HTML of charts. */
import type { ChartParts } from "@holdfast/app-kit/charts";

/** A chart on a page. */
export type PageChart = ChartParts & {
  /** Its id, unique on the page. */
  readonly id: string;
};

/** Writes charts, of which a reader chooses one. The choice needs no script. */
export function figureHtml(charts: readonly PageChart[]): string {
  const choice = charts.length > 1 ? choiceHtml(charts) : "";
  const drawn = charts.map((chart) => chartHtml(chart, charts.length > 1));
  return `<figure class="charts" v-pre>\n${choice}${drawn.join("")}</figure>\n`;
}

function choiceHtml(charts: readonly PageChart[]): string {
  const options = charts.map(({ id, choice }, index) => {
    const input = `<input type="radio" name="${charts[0]?.id}-choice" value="${id}"${index === 0 ? " checked" : ""}>`;
    return `<label>${input} ${escaped(choice)}</label>`;
  });
  return `<fieldset><legend>Show</legend>${options.join("")}</fieldset>\n`;
}

function chartHtml({ id, title, pictures, key, table }: PageChart, hasTitle: boolean): string {
  const drawn = pictures.map(({ svg, text }, index) => {
    const name = `${id}-${index + 1}`;
    return `<div>${labelled(svg, name, title, text)}</div>`;
  });
  return `<div class="chart" id="${id}">
${hasTitle ? `<p class="title">${escaped(title)}</p>\n` : ""}<div class="pictures">${drawn.join("\n")}</div>
${key === "" ? "" : `<p class="key">${escaped(key)}</p>\n`}<details><summary>The figures as a table</summary>
${tableHtml(title, table)}
</details>
</div>
`;
}

/** Names and describes a picture for screen readers. */
function labelled(svg: string, id: string, title: string, text: string): string {
  return svg
    .trim()
    .replace(
      /^<svg ([^>]*)>/,
      `<svg role="img" aria-labelledby="${id}-title" aria-describedby="${id}-text" $1>` +
        `<title id="${id}-title">${escaped(title)}</title><desc id="${id}-text">${escaped(text)}</desc>`,
    );
}

function tableHtml(title: string, [head = [], ...rows]: ChartParts["table"]): string {
  const headCells = head.map((text) => (text === "" ? "<td></td>" : `<th scope="col">${escaped(text)}</th>`));
  const lines = rows.map(([name = "", ...values]) => {
    const cells = values.map((value) => `<td${/^[\d–]/.test(value) ? "" : ' class="text"'}>${escaped(value)}</td>`);
    return `<tr><th scope="row">${escaped(name)}</th>${cells.join("")}</tr>`;
  });
  return `<div class="figures" role="region" tabindex="0" aria-label="${escaped(title)}, figures">
<table><thead><tr>${headCells.join("")}</tr></thead><tbody>${lines.join("\n")}</tbody></table></div>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
