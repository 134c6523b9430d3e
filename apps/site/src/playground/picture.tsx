import type { AccessTrace, StorageKind, Trace } from "@holdfast/simulation";
import {
  type DefineSetupFnComponent,
  defineComponent,
  onBeforeUnmount,
  onMounted,
  ref,
  shallowRef,
  type VNode,
  watch,
} from "vue";
import {
  type ClientMoment,
  isWrong,
  type LockMoment,
  type MessageMoment,
  type Moment,
  type NodeMoment,
  type StorageMoment,
} from "./moment.ts";
import { clientOf, clockOffset, hueOf, listed, ms, signOf, storageNames, storagesToShow, wordOf } from "./words.ts";

/** What the picture shows. */
export interface PictureProps {
  /** The run. */
  readonly trace: Trace;
  /** The moment. */
  readonly moment: Moment;
  /** The name of the node or client whose faults are open. */
  readonly target: string | undefined;
  /** Opens the faults of a node or client. */
  readonly choose: (target: string) => void;
}

/** Where a card is, in pixels from the corner of the picture. */
interface Place {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

type Places = ReadonlyMap<string, Place>;

/** The picture of a moment: nodes, clients and storages, and the messages between them. */
export const Picture: DefineSetupFnComponent<PictureProps> = defineComponent(
  (props: PictureProps) => {
    const root = ref<HTMLElement>();
    const places = shallowRef<Places>(new Map());
    let observer: ResizeObserver | undefined;
    onMounted(() => {
      observer = new ResizeObserver(() => {
        if (root.value) places.value = placesIn(root.value);
      });
      if (root.value) for (const row of [root.value, ...root.value.querySelectorAll(".row")]) observer.observe(row);
    });
    // One more storage changes the cards of its row, and need not change the size of the row.
    watch(
      () => storagesToShow(props.trace).length,
      () => {
        if (root.value) places.value = placesIn(root.value);
      },
      { flush: "post" },
    );
    onBeforeUnmount(() => observer?.disconnect());
    return () => {
      const { trace, moment, target, choose } = props;
      return (
        <div class="picture" ref={root} data-at-ms={moment.atMs}>
          {places.value.size > 0 && <Traffic trace={trace} moment={moment} places={places.value} />}
          <div class={["row nodes", { many: moment.nodes.length > 7 }]} style={{ "--columns": moment.nodes.length }}>
            {moment.nodes.map((node) => (
              <NodeCard key={node.name} node={node} trace={trace} isTarget={target === node.name} choose={choose} />
            ))}
          </div>
          <div class="row clients">
            {moment.clients.map((client) => (
              <ClientCard
                key={client.name}
                client={client}
                claimed={claimedBy(client.name, moment)}
                trace={trace}
                isTarget={target === client.name}
                choose={choose}
              />
            ))}
          </div>
          <div class="row storages">
            {storagesToShow(trace).map((kind) => (
              <StorageCard
                key={kind}
                storage={moment.storages.find((storage) => storage.kind === kind)}
                kind={kind}
                trace={trace}
                atMs={moment.atMs}
              />
            ))}
          </div>
        </div>
      );
    };
  },
  { props: ["trace", "moment", "target", "choose"] },
);

function placesIn(root: HTMLElement): Places {
  const corner = root.getBoundingClientRect();
  const cards = [...root.querySelectorAll<HTMLElement>("[data-place]")];
  return new Map(
    cards.map((card) => {
      const { left, top, width, height } = card.getBoundingClientRect();
      return [
        card.getAttribute("data-place") ?? "",
        { left: left - corner.left, top: top - corner.top, width, height },
      ];
    }),
  );
}

interface CardProps {
  readonly trace: Trace;
  readonly isTarget: boolean;
  readonly choose: (target: string) => void;
}

function NodeCard({ node, trace, isTarget, choose }: CardProps & { readonly node: NodeMoment }): VNode {
  const { name, state, claims, counters, clockAheadMs } = node;
  const claim = claims[0];
  const counter = counters.find(({ resource }) => resource === (claim?.resource ?? trace.resources[0]))?.counter ?? 0;
  return (
    <article class={["card node", `is-${state}`]} aria-label={`Node ${name}`} data-place={name} data-node={name}>
      <div class="head">
        <strong>{name}</strong>
        <span class="state" data-state={state}>
          {state === "guarded" ? "no vote" : state}
        </span>
        <FaultsButton name={name} label={`Faults of node ${name}`} isTarget={isTarget} choose={choose} />
      </div>
      <dl>
        <dt>claim</dt>
        <dd data-claim={claim?.client ?? ""} class={claim && `hue-${hueOf(claim.client, trace)}`}>
          {claim ? <b class="of">{shortName(claim.client)}</b> : "free"}
          {claims.length > 1 && ` +${claims.length - 1}`}
        </dd>
        <dt>ends in</dt>
        <dd>{claim ? ms(Math.max(0, Math.round(claim.remainingMs))) : "–"}</dd>
        <dt class="short">token</dt>
        <dd data-counter={counter}>{counter}</dd>
        {isOff(clockAheadMs) && (
          <>
            <dt>clock</dt>
            <dd class="odd">{clockOffset(clockAheadMs)}</dd>
          </>
        )}
      </dl>
    </article>
  );
}

/** Names of clients are long for the narrow cards of nodes. */
function shortName(client: string): string {
  return client.replace(/^client /, "client\u00A0");
}

interface ClientProps extends CardProps {
  readonly client: ClientMoment;
  /** On how many nodes it has claims, whether it knows of them or not. */
  readonly claimed: number;
}

function claimedBy(client: string, { nodes }: Moment): number {
  return nodes.filter(({ claims }) => claims.some((claim) => claim.client === client)).length;
}

function ClientCard({ client, claimed, trace, isTarget, choose }: ClientProps): VNode {
  const { name, pausedUntilMs, clockAheadMs, locks } = client;
  const state = client.state === "crashed" ? "crashed" : pausedUntilMs === undefined ? "runs" : "paused";
  const wrong = locks.find(isWrong);
  const lock = wrong ?? locks[0];
  return (
    <article
      class={["card client", `hue-${hueOf(name, trace)}`, `is-${state}`, { "is-wrong": wrong }]}
      aria-label={name}
      data-place={name}
      data-client={name}
      data-wrong={wrong !== undefined}
    >
      <div class="head">
        <strong class="of">{name}</strong>
        <span class="state" data-state={state}>
          {state}
        </span>
        <FaultsButton name={name} label={`Faults of ${name}`} isTarget={isTarget} choose={choose} />
      </div>
      <dl>
        <dt>Believes</dt>
        <dd data-believes={lock ? "holds" : ""}>{believes(client, lock)}</dd>
        <dt>Truth</dt>
        <dd data-truth>{truthOf(client, lock, claimed, trace)}</dd>
        {isOff(clockAheadMs) && (
          <>
            <dt>Clock</dt>
            <dd class="odd">{clockOffset(clockAheadMs)}</dd>
          </>
        )}
      </dl>
      {lock && (
        <p class="verdict">
          <b>
            <span aria-hidden="true">{wrong ? "⚠ " : "✓ "}</span>
            {verdictOf(lock)}
          </b>
        </p>
      )}
    </article>
  );
}

/** Whether a clock is worth a word. Clocks of computers drift a little all the time. */
function isOff(aheadMs: number): boolean {
  return Math.abs(aheadMs) >= 1;
}

function believes({ locks, state, waitsFor }: ClientMoment, lock: LockMoment | undefined): string {
  if (state === "crashed") return "nothing";
  if (lock === undefined) return waitsFor.length === 0 ? "has no lock" : `waits for ${waitsFor.join(", ")}`;
  const { remainingMs, fence, mode } = lock;
  const more = locks.length === 1 ? "" : `, and ${locks.length - 1} more`;
  return `holds${mode === "shared" ? " a shared lock" : ""}, token ${fence}, ${Math.round(remainingMs)} ms left${more}`;
}

function verdictOf({ hasMajority, rivals }: LockMoment): string {
  if (!hasMajority) return "Wrong: the lock is lost";
  const believe = rivals.length === 1 ? "believes" : "believe";
  return rivals.length === 0 ? "Right" : `Not alone: ${listed(rivals)} ${believe} it, too`;
}

function truthOf({ unread }: ClientMoment, lock: LockMoment | undefined, claimed: number, { nodes }: Trace): string {
  const mail = unread === 0 ? "" : `; ${unread} unread ${unread === 1 ? "message" : "messages"}`;
  const kept = lock?.nodes.length ?? claimed;
  if (lock === undefined && kept === 0) return `no claim${mail}`;
  return `claim on ${kept} of ${nodes.length} nodes${mail}`;
}

function FaultsButton(props: {
  name: string;
  label: string;
  isTarget: boolean;
  choose: (name: string) => void;
}): VNode {
  return (
    <button
      type="button"
      class="faults"
      aria-label={props.label}
      aria-pressed={props.isTarget}
      data-faults-of={props.name}
      onClick={() => props.choose(props.name)}
    >
      Faults
    </button>
  );
}

interface StorageProps {
  readonly kind: StorageKind;
  readonly storage: StorageMoment | undefined;
  readonly trace: Trace;
  readonly atMs: number;
}

function StorageCard({ kind, storage, trace, atMs }: StorageProps): VNode {
  const { values = [], updates = 0, lostUpdates = 0, refusals = 0 } = storage ?? {};
  const last = trace.accesses.findLast(({ arrivesAtMs, results }) => arrivesAtMs <= atMs && results !== undefined);
  return (
    <article
      class={["card storage", { "has-lost": lostUpdates > 0 }]}
      aria-label={`Storage ${storageNames[kind].toLowerCase()}`}
      data-place={kind}
      data-storage={kind}
      data-lost={lostUpdates}
      data-refused={refusals}
      data-accepted={updates}
    >
      <div class="head">
        <strong>{storageNames[kind]}</strong>
      </div>
      <dl>
        <dt>Value</dt>
        <dd>
          {values.map(({ resource, value, writtenBy }) => (
            <div key={resource} class={`hue-${hueOf(clientOfAttempt(writtenBy, trace), trace)}`}>
              {values.length > 1 && `${resource} `}
              {value}
              {writtenBy !== undefined && (
                <>
                  {", by "}
                  <b class="of">{clientOfAttempt(writtenBy, trace)}</b>
                </>
              )}
            </div>
          ))}
        </dd>
        <dt>Token</dt>
        <dd>{kind === "checks nothing" ? "not checked" : Math.max(0, ...values.map(({ highest }) => highest))}</dd>
      </dl>
      <p class="lost">
        <b>
          <span aria-hidden="true">{lostUpdates > 0 ? "⚠ " : "✓ "}</span>
          {lostUpdates === 0 ? "Nothing lost" : `${lostUpdates} ${lostUpdates === 1 ? "update" : "updates"} lost`}
          {refusals > 0 && `, ${refusals} refused`}
        </b>
      </p>
      <p class="last">{last && describeAccess(last, kind, trace)}</p>
    </article>
  );
}

function clientOfAttempt(attempt: string | undefined, { leases }: Trace): string | undefined {
  return leases.find((lease) => lease.attempt === attempt)?.client;
}

/** Says what a storage did with an access. */
function describeAccess({ kind, client, fence, results }: AccessTrace, storage: StorageKind, trace: Trace): string {
  const { outcome, lost, highest } = results?.[storage] ?? {};
  if (outcome === "skipped") return `${client} does not write: its read was refused.`;
  const shown = shownToken(fence);
  if (outcome === "refused") return `Refused the ${kind} of ${client}, ${shown}: it has seen token ${highest}.`;
  const past = { read: "Read", write: "Written", "read again": "Read again" }[kind];
  return `${past} by ${client}, ${shown}${lost === undefined ? "." : `: the update of ${clientOfAttempt(lost, trace)} is lost.`}`;
}

function shownToken(fence: number | undefined): string {
  return fence === undefined ? "no token" : `token ${fence}`;
}

interface TrafficProps {
  readonly trace: Trace;
  readonly moment: Moment;
  readonly places: Places;
}

/** With more messages than these in flight, their words would cover each other. */
const mostWords = 14;

/** A point of the picture, in pixels. */
type Point = readonly [x: number, y: number];

/** The links and what flies on them. The cards say in words what it shows. */
function Traffic({ trace, moment, places }: TrafficProps): VNode {
  const kinds = storagesToShow(trace);
  const link = (client: string, node: string): readonly [Point, Point] => [
    edge(places, client, "top", trace.nodes.indexOf(node), trace.nodes.length),
    edge(places, node, "bottom", trace.clients.indexOf(client), trace.clients.length),
  ];
  const toStorage = (client: string, kind: StorageKind): readonly [Point, Point] => [
    edge(places, client, "bottom", kinds.indexOf(kind), kinds.length),
    edge(places, kind, "top", trace.clients.indexOf(client), trace.clients.length),
  ];
  // The operator of a seed has no card.
  const isOfClient = (message: MessageMoment): boolean => places.has(clientOf(message));
  return (
    <svg class={["traffic", { crowded: moment.messages.length > mostWords }]} aria-hidden="true">
      {trace.clients.flatMap((client) => [
        ...trace.nodes.map((node) => {
          const cut = moment.cuts.find((other) => other.client === client && other.node === node);
          return <Link key={`${client} ${node}`} ends={link(client, node)} cut={cut?.part} />;
        }),
        ...kinds.map((kind) => <Link key={`${client} ${kind}`} ends={toStorage(client, kind)} cut={undefined} />),
      ])}
      {moment.messages.filter(isOfClient).map((message) => {
        const { id, part, from, to, isLost, progress } = message;
        const client = clientOf(message);
        const [start, end] = link(client, part === "request" ? to : from);
        const at = part === "request" ? between(start, end, progress) : between(end, start, progress);
        const hue = `hue-${hueOf(client, trace)}`;
        return (
          <Dot
            isRound={true}
            key={id}
            at={at}
            kind={[part, hue, { lost: isLost }]}
            sign={signOf(message)}
            word={wordOf(message)}
          />
        );
      })}
      {trace.accesses
        .filter(({ sentAtMs, arrivesAtMs }) => sentAtMs <= moment.atMs && moment.atMs < arrivesAtMs)
        .flatMap(({ client, kind, fence, sentAtMs, arrivesAtMs }) =>
          kinds.map((storage) => {
            const at = between(...toStorage(client, storage), (moment.atMs - sentAtMs) / (arrivesAtMs - sentAtMs));
            const [sign, word] = [kind === "write" ? "W" : "R", `${kind}, ${shownToken(fence)}`];
            return (
              <Dot
                isRound={false}
                key={`${client}${sentAtMs}${storage}`}
                at={at}
                kind={["access", `hue-${hueOf(client, trace)}`]}
                sign={sign}
                word={word}
              />
            );
          }),
        )}
    </svg>
  );
}

interface DotProps {
  readonly at: Point;
  readonly kind: unknown;
  readonly sign: string;
  readonly word: string;
  readonly isRound: boolean;
}

/** A message on its way. */
function Dot({ at: [x, y], kind, sign, word, isRound }: DotProps): VNode {
  return (
    <g class={["dot", kind]}>
      <rect x={x - 8} y={y - 8} width="16" height="16" rx={isRound ? 8 : 1} />
      <text class="sign" x={x} y={y}>
        {sign}
      </text>
      <text class="word" x={x + 11} y={y}>
        {word}
      </text>
    </g>
  );
}

interface LinkProps {
  readonly ends: readonly [Point, Point];
  readonly cut: "requests" | "replies" | "both" | undefined;
}

function Link({ ends: [start, end], cut }: LinkProps): VNode {
  const middle = between(start, end, 0.5);
  return (
    <g class={["link", { cut }]}>
      <line x1={start[0]} y1={start[1]} x2={end[0]} y2={end[1]} />
      {cut && (
        <text class="sign" x={middle[0]} y={middle[1]}>
          {cut === "both" ? "✕" : cut === "requests" ? "✕↑" : "✕↓"}
        </text>
      )}
    </g>
  );
}

/** Returns a point of the upper or lower edge of a card, so that the links of one card end beside each other. */
function edge(places: Places, name: string, side: "top" | "bottom", index: number, count: number): Point {
  const { left, top, width, height } = places.get(name) ?? { left: 0, top: 0, width: 0, height: 0 };
  return [left + (width * (index + 1)) / (count + 1), side === "top" ? top : top + height];
}

function between(from: Point, to: Point, progress: number): Point {
  return [from[0] + (to[0] - from[0]) * progress, from[1] + (to[1] - from[1]) * progress];
}
