import { changeFindings } from "./change-findings.ts";
import { commonKinds } from "./common-findings.ts";
import type { FindingKind } from "./finding-kind.ts";
import { setFindings } from "./set-findings.ts";
import { specialists } from "./specialists.ts";

/** All kinds of findings, by code. Findings of equal severity are reported in this order. */
export const kinds: Readonly<Record<string, FindingKind>> = Object.assign(
  {},
  ...[setFindings, commonKinds, changeFindings, ...Object.values(specialists).map(({ findings }) => findings)],
);
