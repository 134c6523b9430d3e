import type { StorageKind, Trace } from "@holdfast/simulation";
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
import { clientWords, clockOf, lossOf, stateOf } from "./cards.ts";
import type { ClientMoment, ClockMoment, Moment, NodeMoment, StorageMoment } from "./moment.ts";
import { clientOf, hueOf, ms, signOf, storageNames, wordOf } from "./words.ts";

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
      () => props.moment.storages.length,
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
          <div class="row nodes" style={{ "--columns": moment.nodes.length }}>
            {moment.nodes.map((node) => (
              <NodeCard key={node.name} node={node} trace={trace} isTarget={target === node.name} choose={choose} />
            ))}
          </div>
          <div class="row clients">
            {moment.clients.map((client) => (
              <ClientCard
                key={client.name}
                client={client}
                moment={moment}
                trace={trace}
                isTarget={target === client.name}
                choose={choose}
              />
            ))}
          </div>
          <div class="row storages">
            {moment.storages.map((storage) => (
              <StorageCard key={storage.kind} storage={storage} trace={trace} />
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
  const { name, state, claim, counter } = node;
  return (
    <article class={["card node", `is-${state}`]} aria-label={`Node ${name}`} data-place={name} data-node={name}>
      <div class="head">
        <strong>{name}</strong>
        <span class="state" data-state={state}>
          {stateOf(node)}
        </span>
        <FaultsButton name={name} label={`Faults of node ${name}`} isTarget={isTarget} choose={choose} />
      </div>
      <dl>
        <dt>claim</dt>
        <dd class={claim && `hue-${hueOf(claim.client, trace)}`}>
          {/* Names of clients are long for the narrow cards of nodes. */}
          {claim ? <b class="of">{claim.client.replace(/^client /, "client\u00A0")}</b> : "free"}
        </dd>
        <dt>ends in</dt>
        <dd>{claim ? ms(Math.round(claim.remainingMs)) : "–"}</dd>
        <dt class="short">token</dt>
        <dd>{counter}</dd>
        <WrongClock clock={node} />
      </dl>
    </article>
  );
}

interface ClientProps extends CardProps {
  readonly client: ClientMoment;
  readonly moment: Moment;
}

function ClientCard({ client, moment, trace, isTarget, choose }: ClientProps): VNode {
  const { name, state } = client;
  const { believes, truth, verdict, isWrong } = clientWords(client, moment);
  return (
    <article
      class={["card client", `hue-${hueOf(name, trace)}`, `is-${state}`, { "is-wrong": isWrong }]}
      aria-label={name}
      data-place={name}
      data-client={name}
      data-wrong={isWrong}
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
        <dd>{believes}</dd>
        <dt>Truth</dt>
        <dd data-truth>{truth}</dd>
        <WrongClock clock={client} />
      </dl>
      {verdict && <Verdict isBad={isWrong} text={verdict} />}
    </article>
  );
}

function WrongClock({ clock }: { readonly clock: ClockMoment }): VNode | null {
  const text = clockOf(clock);
  if (text === undefined) return null;
  return (
    <>
      <dt>clock</dt>
      <dd class="odd">{text}</dd>
    </>
  );
}

function Verdict({ isBad, text }: { readonly isBad: boolean; readonly text: string }): VNode {
  return (
    <p class="verdict">
      <b>
        <span aria-hidden="true">{isBad ? "⚠ " : "✓ "}</span>
        {text}
      </b>
    </p>
  );
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
  readonly storage: StorageMoment;
  readonly trace: Trace;
}

function StorageCard({ storage, trace }: StorageProps): VNode {
  const { kind, value, writer, highest, lostUpdates } = storage;
  return (
    <article
      class={["card storage", { "has-lost": lostUpdates > 0 }]}
      aria-label={`Storage ${storageNames[kind].toLowerCase()}`}
      data-place={kind}
      data-storage={kind}
    >
      <div class="head">
        <strong>{storageNames[kind]}</strong>
      </div>
      <dl>
        <dt>Value</dt>
        <dd class={`hue-${hueOf(writer, trace)}`}>
          {value}
          {writer !== undefined && (
            <>
              {", by "}
              <b class="of">{writer}</b>
            </>
          )}
        </dd>
        <dt>Token</dt>
        <dd>{kind === "checks nothing" ? "not checked" : highest}</dd>
      </dl>
      <Verdict isBad={lostUpdates > 0} text={lossOf(storage)} />
    </article>
  );
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
  const kinds = moment.storages.map(({ kind }) => kind);
  const link = (client: string, node: string): readonly [Point, Point] => [
    edge(places, client, "top", trace.nodes.indexOf(node), trace.nodes.length),
    edge(places, node, "bottom", trace.clients.indexOf(client), trace.clients.length),
  ];
  const toStorage = (client: string, kind: StorageKind): readonly [Point, Point] => [
    edge(places, client, "bottom", kinds.indexOf(kind), kinds.length),
    edge(places, kind, "top", trace.clients.indexOf(client), trace.clients.length),
  ];
  return (
    <svg class={["traffic", { crowded: moment.messages.length > mostWords }]} aria-hidden="true">
      {trace.clients.flatMap((client) => [
        ...moment.nodes.map(({ name, cutFrom }) => (
          <Link key={`${client} ${name}`} ends={link(client, name)} isCut={cutFrom.includes(client)} />
        )),
        ...kinds.map((kind) => <Link key={`${client} ${kind}`} ends={toStorage(client, kind)} isCut={false} />),
      ])}
      {moment.messages.map((message) => {
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
  readonly isCut: boolean;
}

function Link({ ends: [start, end], isCut }: LinkProps): VNode {
  const middle = between(start, end, 0.5);
  return (
    <g class={["link", { cut: isCut }]}>
      <line x1={start[0]} y1={start[1]} x2={end[0]} y2={end[1]} />
      {isCut && (
        <text class="sign" x={middle[0]} y={middle[1]}>
          ✕
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
